#include "tools/launch/server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/os/clock.hpp"

namespace rmq::launch {

using boot::FrameKind;

Server::Server(EventLoop& loop, int size, Upcalls& upcalls)
    : loop_(loop), upcalls_(upcalls), peers_(static_cast<std::size_t>(size)) {}

Server::~Server() {
  for (const Peer& p : peers_)
    if (p.socket.is_open()) loop_.forget(p.socket.get());
}

void Server::add(int rank, UniqueFd socket) {
  Peer& p = peer(rank);
  RMQ_CHECK(!p.socket.is_open());
  p.socket = std::move(socket);
  const int on = 1;
  ::setsockopt(p.socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);  // without effect on TCP
  ++connected_;
  loop_.watch(p.socket.get(), EPOLLIN, [this, rank](std::uint32_t events) { on_ready(rank, events); });
}

void Server::on_ready(int rank, std::uint32_t events) {
  if (events & EPOLLOUT) flush(rank);
  if (is_connected(rank) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) receive(rank);
}

void Server::drain(int rank) {
  while (is_connected(rank) && receive(rank)) {
  }
}

// Reads and handles one chunk; false when there was nothing (more).
bool Server::receive(int rank) {
  Peer& p = peer(rank);
  constexpr std::size_t chunk = 16 * 1024;
  const ssize_t got = read_socket(p, p.reader.reserve(chunk), chunk);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) {
    disconnect(rank);
    upcalls_.on_disconnect(rank);
    check_absent();
    return false;
  }
  p.reader.commit(static_cast<std::size_t>(got));
  while (p.socket.is_open()) {
    const auto frame = p.reader.next();
    if (!frame) {
      disconnect(rank);
      upcalls_.on_violation(rank, frame.error().what);
      return false;
    }
    if (!*frame) break;
    handle(rank, **frame);
  }
  return true;
}

// As recv; before hello, also notes which process sends. Only the kernel knows its id in our terms: the rank may live
// in a PID namespace of its own.
ssize_t Server::read_socket(Peer& p, char* at, std::size_t size) {
  if (p.state != RankState::silent) return ::recv(p.socket.get(), at, size, MSG_DONTWAIT);
  iovec data{at, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(p.socket.get(), &message, MSG_DONTWAIT);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    p.pid = sender.pid;
  }
  return got;
}

void Server::disconnect(int rank) {
  Peer& p = peer(rank);
  if (!p.socket.is_open()) return;
  loop_.forget(p.socket.get());
  p.socket.reset();
  --connected_;
}

void Server::handle(int rank, const boot::Frame& frame) {
  boot::BodyReader body(frame.body);
  if (peer(rank).state != RankState::joined && frame.kind != FrameKind::hello) {
    send(rank, boot::encode(FrameKind::refused, "a start-up call outside of MPI_Init … MPI_Finalize"));
    return;
  }
  switch (frame.kind) {
    case FrameKind::hello:
      return on_hello(rank, frame.body);
    case FrameKind::put:
      return on_put(rank, frame.body);
    case FrameKind::get:
      return on_get(rank, frame.body);
    case FrameKind::wish:
      return on_wish(rank, frame.body);
    case FrameKind::wish_part:
      peer(rank).wish += frame.body;
      return;
    case FrameKind::fence:
      return on_fence(rank, frame.body == "1");
    case FrameKind::clock: {
      const std::uint64_t now = os::now_ns();
      std::string text(sizeof now, '\0');
      std::memcpy(text.data(), &now, sizeof now);  // little-endian, as this machine (base/packet.hpp insists)
      return send(rank, boot::encode(FrameKind::time, text));
    }
    case FrameKind::abort:
    case FrameKind::lost: {
      const int code = static_cast<int>(body.u32());
      upcalls_.on_abort(rank, body.ok() ? code : 1, body.rest(), frame.kind == FrameKind::lost);
      return;
    }
    case FrameKind::answer: {
      const std::uint32_t number = body.u32();
      return upcalls_.on_answer(rank, number, body.rest());
    }
    case FrameKind::accuse: {
      const int accused = static_cast<int>(body.u32());
      if (body.ok() && accused >= 0 && accused < static_cast<int>(peers_.size()))
        upcalls_.on_accuse(rank, accused, body.rest());
      return;
    }
    case FrameKind::finalize:
      peer(rank).state = RankState::finalized;
      return depart(rank);
    default:
      disconnect(rank);
      upcalls_.on_violation(
          rank, fmt::format("it sent frame {}, which only the server may send", static_cast<int>(frame.kind)));
  }
}

void Server::on_hello(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::uint32_t version = reader.u32();
  const std::uint32_t claimed = reader.u32();
  if (!reader.done() || version != boot::wire_version) {
    disconnect(rank);
    upcalls_.on_violation(
        rank, fmt::format("its library speaks version {} of the start-up protocol, this launcher {}; use the "
                          "rmqrun that belongs to the library",
                          version, boot::wire_version));
  } else if (claimed != static_cast<std::uint32_t>(rank) || peer(rank).state != RankState::silent) {
    send(rank,
         boot::encode(FrameKind::refused, "a second MPI program in one rank; start each with an rmqrun of its own"));
  } else {
    peer(rank).state = RankState::joined;
    const int off = 0;
    ::setsockopt(peer(rank).socket.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
    any_joined_ = true;
    for (const std::string& note : death_notes_) send(rank, note);
    upcalls_.on_join(rank, peer(rank).pid);
    check_absent();
  }
}

void Server::on_put(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::string_view key = reader.short_text();
  if (!reader.ok() || key.empty()) {
    disconnect(rank);
    upcalls_.on_violation(rank, "it sent a damaged put");
    return;
  }
  Entry& entry = board_[std::string(key)];
  if (entry.published) {
    send(rank, boot::encode(FrameKind::refused, fmt::format("the start-up key '{}' was published twice", key)));
    return;
  }
  entry.published = true;
  entry.value = reader.rest();
  for (const int waiting : entry.waiting) send(waiting, boot::encode_value(key, entry.value));
  entry.waiting.clear();
}

void Server::publish(std::string_view key, std::string_view value) {
  Entry& entry = board_[std::string(key)];
  if (entry.published) return;
  entry.published = true;
  entry.value = value;
  for (const int waiting : entry.waiting) send(waiting, boot::encode_value(key, entry.value));
  entry.waiting.clear();
}

void Server::on_wish(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::string what(reader.short_text());
  const std::string text = std::exchange(peer(rank).wish, {}) + std::string(reader.rest());
  if (!reader.ok()) {
    disconnect(rank);
    return upcalls_.on_violation(rank, "it sent a damaged wish");
  }
  if (upcalls_.on_wish(rank, what, text)) return;
  const auto wish = nlohmann::json::parse(text, nullptr, false);
  if (!wish.is_object() || !wish.contains("answer") || !wish["answer"].is_string()) return;
  publish(wish["answer"].get<std::string>(), nlohmann::json{{"error", "this launcher cannot do that"}}.dump());
}

void Server::on_get(int rank, std::string_view key) {
  Entry& entry = board_[std::string(key)];
  if (entry.published) {
    send(rank, boot::encode_value(key, entry.value));
  } else {
    entry.waiting.push_back(rank);
  }
}

void Server::on_fence(int rank, bool more) {
  if (peer(rank).in_fence) {
    send(rank, boot::encode(FrameKind::refused, "two fences of one rank at once"));
    return;
  }
  peer(rank).in_fence = true;
  fence_more_ = fence_more_ || more;
  ++fence_arrived_;
  check_fence();
}

void Server::depart(int rank) {
  if (peer(rank).departed) return;
  peer(rank).departed = true;
  ++departed_;
  check_fence();
  check_absent();
}

void Server::bury(int rank, std::string_view how) {
  Peer& p = peer(rank);
  if (p.state == RankState::dead) return;
  p.state = RankState::dead;
  ++dead_;
  if (p.in_fence) --fence_arrived_;
  p.in_fence = false;
  const std::string& note = death_notes_.emplace_back(boot::encode_code(FrameKind::gone, rank, how));
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].state == RankState::joined) send(static_cast<int>(r), note);
  depart(rank);
}

// Opens the fence when all have come who live, or finds that somebody will not.
void Server::check_fence() {
  if (fence_arrived_ == 0) return;
  if (fence_arrived_ < static_cast<int>(peers_.size()) - dead_) {
    for (std::size_t r = 0; r < peers_.size() && departed_ > dead_; ++r)
      if (peers_[r].departed && peers_[r].state != RankState::dead && !peers_[r].in_fence)
        return upcalls_.on_violation(static_cast<int>(r),
                                     "it left while other ranks wait for it in MPI_Init or MPI_Finalize");
    return;
  }
  const std::string done = boot::encode(FrameKind::fence_done, std::exchange(fence_more_, false) ? "1" : "");
  fence_arrived_ = 0;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (!peers_[r].in_fence) continue;
    peers_[r].met = true;
    send(static_cast<int>(r), done);
    peers_[r].in_fence = false;
  }
}

// MPI ends when all ranks do, so one that will never begin is missed, at the latest then. While its socket is open, a
// descendant of its process may still call MPI_Init.
void Server::check_absent() {
  if (!any_joined_ || departed_ == 0) return;
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].departed && peers_[r].state == RankState::silent && !peers_[r].socket.is_open())
      return upcalls_.on_violation(static_cast<int>(r),
                                   "it left without calling MPI_Init, which other ranks have called");
}

void Server::end(int code, std::string_view why) {
  const std::string frame = boot::encode_code(FrameKind::end, code, why);
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].socket.is_open()) send(static_cast<int>(r), frame);
}

void Server::send(int rank, std::string frame) {
  Peer& p = peer(rank);
  if (!p.socket.is_open()) return;
  p.outgoing += frame;
  flush(rank);
}

// A socket that fails is left to receive(), which sees the same failure and reports it once.
void Server::flush(int rank) {
  Peer& p = peer(rank);
  while (!p.outgoing.empty()) {
    const ssize_t sent = ::send(p.socket.get(), p.outgoing.data(), p.outgoing.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) p.outgoing.clear();
    if (sent < 0) break;
    p.outgoing.erase(0, static_cast<std::size_t>(sent));
  }
  if (p.awaits_room == !p.outgoing.empty()) return;
  p.awaits_room = !p.outgoing.empty();
  loop_.change(p.socket.get(), EPOLLIN | (p.awaits_room ? static_cast<std::uint32_t>(EPOLLOUT) : 0u));
}

}  // namespace rmq::launch
