// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/line.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rmq::launch {

void RankLine::open(UniqueFd socket, Hear hear, Ended ended) {
  RMQ_CHECK(!is_open());
  socket_ = std::move(socket);
  hear_ = std::move(hear);
  ended_ = std::move(ended);
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);  // without effect on TCP
  loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) {
    if (events & EPOLLOUT) flush();
    if (is_open() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) receive();
  });
}

void RankLine::close() {
  if (!is_open()) return;
  loop_.forget(socket_.get());
  socket_.reset();
}

void RankLine::drain() {
  while (is_open() && receive()) {
  }
}

// Reads and handles one chunk; false when there was nothing (more).
bool RankLine::receive() {
  constexpr std::size_t chunk = 16 * 1024;
  const ssize_t got = read_socket(reader_.reserve(chunk), chunk);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) {
    close();
    ended_("");
    return false;
  }
  reader_.commit(static_cast<std::size_t>(got));
  while (is_open()) {
    const auto frame = reader_.next();
    if (!frame) {
      close();
      ended_(frame.error().what);
      return false;
    }
    if (!*frame) break;
    hear_(**frame);
  }
  return true;
}

// As recv; also notes which process sends, until that is known.
ssize_t RankLine::read_socket(char* at, std::size_t size) {
  if (!asks_senders_) return ::recv(socket_.get(), at, size, MSG_DONTWAIT);
  iovec data{at, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    sender_ = sender.pid;
  }
  return got;
}

void RankLine::forget_senders() {
  asks_senders_ = false;
  const int off = 0;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
}

void RankLine::send(std::string_view frame) {
  if (!is_open()) return;
  outgoing_ += frame;
  flush();
}

// A socket that fails is left to receive(), which sees the same failure and reports it once.
void RankLine::flush() {
  while (!outgoing_.empty()) {
    const ssize_t sent = ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) outgoing_.clear();
    if (sent < 0) break;
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
  if (awaits_room_ == !outgoing_.empty()) return;
  awaits_room_ = !outgoing_.empty();
  loop_.change(socket_.get(), EPOLLIN | (awaits_room_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0u));
}

}  // namespace rmq::launch
