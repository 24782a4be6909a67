// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/ready_set.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bit>

namespace rmq::tcp {
namespace {

epoll_event event_for(Tag tag, bool writable) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (writable ? EPOLLOUT : 0u);
  event.data.u64 = std::bit_cast<std::uint64_t>(tag);
  return event;
}

}  // namespace

Result<std::unique_ptr<ReadySet>> ReadySet::open() {
  std::unique_ptr<ReadySet> set(new ReadySet);
  set->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (set->epoll_ < 0) return fail_errno("method tcp cannot create an epoll set (see ulimit -n)");
  set->timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (set->timer_ < 0) return fail_errno("method tcp cannot create a timer (see ulimit -n)");
  if (auto added = set->add(set->timer_, {Tag::Sort::timer, 0}); !added) return tl::unexpected(added.error());
  return set;
}

ReadySet::~ReadySet() {
  if (timer_ >= 0) ::close(timer_);
  if (epoll_ >= 0) ::close(epoll_);
}

Result<void> ReadySet::add(int fd, Tag tag, bool writable) {
  epoll_event event = event_for(tag, writable);
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail_errno("method tcp cannot watch a socket");
}

void ReadySet::change(int fd, Tag tag, bool writable) {
  epoll_event event = event_for(tag, writable);
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void ReadySet::remove(int fd) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void ReadySet::set_timer(std::uint64_t deadline) {
  if (deadline == deadline_) return;
  deadline_ = deadline;
  itimerspec when{};
  if (deadline != kNever) {
    // A time of zero would stop the timer.
    const std::uint64_t at = deadline == 0 ? 1 : deadline;
    when.it_value.tv_sec = static_cast<time_t>(at / 1000000000u);
    when.it_value.tv_nsec = static_cast<long>(at % 1000000000u);
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

std::span<const Tag> ReadySet::ready() {
  epoll_event events[kBatch];
  const int n = ::epoll_wait(epoll_, events, kBatch, 0);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t tag = events[i].data.u64;  // which is not aligned there
    tags_[i] = std::bit_cast<Tag>(tag);
  }
  return {tags_, static_cast<std::size_t>(n < 0 ? 0 : n)};
}

}  // namespace rmq::tcp
