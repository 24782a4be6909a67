// SPDX-License-Identifier: BSD-3-Clause
#include "tools/boot/gate.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "tools/boot/address.hpp"
#include "tools/process/acceptor.hpp"

namespace rmq::launch {

namespace {

constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds moment{50};  // until descriptors may have come free

}  // namespace

Gate::Gate(EventLoop& loop, UniqueFd listener, std::string tickets, Admit admit, bool minders)
    : loop_(loop),
      listener_(std::move(listener)),
      tickets_(std::move(tickets)),
      rank_in_(tickets_.size() / boot::ticket_bytes),
      minder_in_(rank_in_.size(), !minders),
      admit_(std::move(admit)),
      missing_(static_cast<int>((minders ? 2 : 1) * rank_in_.size())) {
  listen();
}

void Gate::listen() {
  loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connection(); });
}

// The listener stays readable all the while: watching it would be a busy loop.
void Gate::shut_for_a_moment() {
  loop_.forget(listener_.get());
  opens_ = loop_.after(moment, [this] {
    opens_.reset();
    listen();
  });
}

void Gate::on_connection() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {
    if (!is_exhausted(errno)) return;
    if (const Place oldest = oldest_unmarked(); oldest != visitors_.end()) dismiss(oldest);
    return shut_for_a_moment();
  }
  make_room();
  const int fd = socket.get();
  const Id id = next_id_++;
  const auto timer = loop_.after(patience, [this, id] { dismiss(visitors_.find(id)); });
  visitors_.emplace(id, Visitor{.socket = std::move(socket), .patience = timer, .entry = {}});
  loop_.watch(fd, EPOLLIN, [this, id](std::uint32_t) { on_ready(id); });
  on_ready(id);  // a rank has said its first word already
}

Gate::Place Gate::oldest_unmarked() {
  return std::find_if(visitors_.begin(), visitors_.end(), [](const auto& one) { return !one.second.entry; });
}

void Gate::make_room() {
  // All ranks may have called and not had the CPU yet to say a word. Marks can be replayed, so those who have one are
  // not without number either.
  const auto full = [&] { return visitors_.size() >= kUnmarked + static_cast<std::size_t>(missing_); };
  if (!full()) return;
  Place oldest = oldest_unmarked();
  if (oldest != visitors_.end()) {
    const Id id = oldest->first;
    on_ready(id);  // its first word may have come since
    if (!full()) return;
    oldest = oldest_unmarked();
  }
  dismiss(oldest != visitors_.end() ? oldest : visitors_.begin());
}

void Gate::on_ready(Id id) {
  const Place place = visitors_.find(id);
  Visitor& visitor = place->second;
  const auto frame = receive_frame(visitor.socket.get(), visitor.reader);
  if (frame && !*frame) return;
  if (frame && visitor.entry && !used(visitor.entry->role())[visitor.entry->rank()] &&
      visitor.entry->is_proven_by(**frame)) {
    return let_in(place);
  }
  // A stranger; closing is all the answer it gets.
  if (!frame || !hear(visitor, **frame)) dismiss(place);
}

// Its first frame.
bool Gate::hear(Visitor& visitor, const boot::Frame& frame) {
  if (visitor.entry) return false;
  visitor.entry = boot::Entry::opened(frame, tickets_);
  return visitor.entry && !used(visitor.entry->role())[visitor.entry->rank()] &&
         say(visitor, visitor.entry->challenge());
}

void Gate::let_in(Place place) {
  const boot::FrameKind role = place->second.entry->role();
  const std::size_t rank = place->second.entry->rank();
  const bool told = say(place->second, boot::encode(boot::FrameKind::joined));
  UniqueFd socket = dismiss(place);
  if (!told) return;
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  used(role)[rank] = true;
  if (--missing_ == 0) {
    if (opens_) loop_.cancel(*opens_);
    opens_.reset();
    loop_.forget(listener_.get());
    listener_.reset();
  }
  admit_(role, static_cast<int>(rank), std::move(socket));
}

// A fresh connection takes a small frame whole.
bool Gate::say(const Visitor& visitor, std::string_view frame) {
  return ::send(visitor.socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(frame.size());
}

UniqueFd Gate::dismiss(Place place) {
  loop_.forget(place->second.socket.get());
  loop_.cancel(place->second.patience);
  UniqueFd socket = std::move(place->second.socket);
  visitors_.erase(place);
  return socket;
}

}  // namespace rmq::launch
