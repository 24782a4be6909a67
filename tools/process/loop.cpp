// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/loop.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace rmq::launch {

namespace {

epoll_event make_event(int fd, std::uint32_t generation, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(generation) << 32 | static_cast<std::uint32_t>(fd);
  return event;
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return fail_errno("the launcher cannot create its event queue");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

bool EventLoop::watch(int fd, std::uint32_t events, Ready ready) {
  const std::uint32_t generation = next_generation_++;
  epoll_event event = make_event(fd, generation, events);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    RMQ_CHECK(errno == EPERM);
    return false;
  }
  watches_[fd] = {generation, std::make_shared<Ready>(std::move(ready))};
  return true;
}

void EventLoop::change(int fd, std::uint32_t events) {
  const auto found = watches_.find(fd);
  RMQ_CHECK(found != watches_.end());
  epoll_event event = make_event(fd, found->second.generation, events);
  RMQ_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::forget(int fd) {
  if (watches_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::after(Clock::duration delay, std::function<void()> expired) {
  const TimerId id{Clock::now() + delay, next_timer_++};
  timers_.emplace(id, std::move(expired));
  return id;
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

void EventLoop::run_timers() {
  // Those that are due now. One that sets another, without delay perhaps, does not keep the descriptors waiting.
  const TimerId end{Clock::now(), next_timer_};
  while (running_ && !timers_.empty() && timers_.begin()->first < end) {
    const auto expired = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    expired();
  }
}

void EventLoop::run() {
  std::array<epoll_event, 64> events;
  while (running_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    for (int i = 0; i < count && running_; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const auto found = watches_.find(static_cast<int>(event.data.u64 & 0xffffffffu));
      if (found == watches_.end() || found->second.generation != event.data.u64 >> 32) continue;  // forgotten meanwhile
      const auto ready = found->second.ready;  // keeps the callback alive while it forgets itself
      (*ready)(event.events);
    }
    run_timers();
  }
}

}  // namespace rmq::launch
