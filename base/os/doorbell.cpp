// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/doorbell.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/os/children.hpp"

namespace rmq {
namespace {

socklen_t bell_address(sockaddr_un& address, std::string_view job, Rank rank) {
  address = {};
  address.sun_family = AF_UNIX;
  // A leading zero byte puts the name in the abstract namespace.
  const auto end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1, "rmq/{}/{}", job, rank);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + end.size);
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::open(std::string_view job, Rank rank) {
  std::unique_ptr<Doorbell> bell(new Doorbell);
  bell->job_ = job;
  bell->rank_ = rank;
  bell->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (bell->epoll_ < 0) return fail_errno(fmt::format("rank {} cannot create an epoll set (see ulimit -n)", rank));
  bell->socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bell->socket_ < 0) return fail_errno(fmt::format("rank {} cannot create its doorbell (see ulimit -n)", rank));
  os::keep_from_children(bell->socket_);
  sockaddr_un address;
  const socklen_t length = bell_address(address, job, rank);
  if (::bind(bell->socket_, reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return fail_errno(fmt::format("rank {} cannot name its doorbell", rank));
  }
  if (auto ok = bell->watch(bell->socket_); !ok) return tl::unexpected(ok.error());
  return bell;
}

Doorbell::~Doorbell() {
  if (socket_ >= 0) ::close(socket_);
  if (epoll_ >= 0) ::close(epoll_);
}

Result<void> Doorbell::watch(int fd, bool writable) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (writable ? EPOLLOUT : 0u);
  event.data.fd = fd;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  if (errno == EEXIST && ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return {};
  return fail_errno(fmt::format("rank {} cannot watch file descriptor {}", rank_, fd));
}

void Doorbell::unwatch(int fd) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Doorbell::wait(std::int64_t timeout_ns) {
  epoll_event events[8];
  timespec timeout{};
  timeout.tv_sec = timeout_ns / 1000000000;
  timeout.tv_nsec = timeout_ns % 1000000000;
  const int n = ::epoll_pwait2(epoll_, events, 8, timeout_ns < 0 ? nullptr : &timeout, nullptr);
  for (int i = 0; i < n; ++i) {
    if (events[i].data.fd == socket_) clear();
  }
}

void Doorbell::clear() const {
  char drop[16];
  while (socket_ >= 0 && ::recv(socket_, drop, sizeof drop, MSG_DONTWAIT) >= 0) {
  }
}

void Doorbell::ring(Rank rank) const {
  if (socket_ < 0) return;  // silent
  sockaddr_un address;
  const socklen_t length = bell_address(address, job_, rank);
  const auto knock = [&](int socket) {
    return ::sendto(socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length) >=
           0;
  };
  // A refusal means that the rank is gone, which is fine. EAGAIN means that its queue is full, so it has been rung; or
  // that our own socket still holds too many rings that other ranks have not heard. A new socket holds none.
  if (knock(socket_) || errno != EAGAIN) return;
  const int fresh = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fresh < 0) return;  // out of descriptors: the rank looks by itself after a while
  knock(fresh);
  ::close(fresh);
}

}  // namespace rmq
