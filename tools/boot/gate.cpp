#include "tools/boot/gate.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>

namespace rmq::launch {

namespace {

constexpr std::chrono::seconds patience{5};

// In time that does not depend on where the texts differ.
bool equal_secret(std::string_view left, std::string_view right) {
  unsigned difference = left.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i)
    difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
  return difference == 0;
}

}  // namespace

Gate::Gate(EventLoop& loop, UniqueFd listener, std::string tickets, Admit admit)
    : loop_(loop),
      listener_(std::move(listener)),
      tickets_(std::move(tickets)),
      rank_in_(tickets_.size() / boot::ticket_bytes),
      minder_in_(rank_in_.size()),
      admit_(std::move(admit)),
      missing_(static_cast<int>(2 * rank_in_.size())) {
  loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connection(); });
}

Gate::~Gate() {
  if (listener_.is_open()) loop_.forget(listener_.get());
  while (!visitors_.empty()) dismiss(visitors_.begin()->first);
}

void Gate::on_connection() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open() || visitors_.size() >= 64u + static_cast<unsigned>(missing_)) return;
  const int fd = socket.get();
  loop_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { on_ready(fd); });
  visitors_.emplace(fd, Visitor{std::move(socket), {}, loop_.after(patience, [this, fd] { dismiss(fd); })});
}

void Gate::on_ready(int fd) {
  Visitor& visitor = visitors_.at(fd);
  constexpr std::size_t join_frame = boot::header_bytes + 4 + boot::ticket_bytes;
  const ssize_t got = ::recv(fd, visitor.reader.reserve(join_frame), join_frame, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) visitor.reader.commit(static_cast<std::size_t>(got));
  const auto frame = got > 0 ? visitor.reader.next() : fail(Errc::peer_lost, "");
  if (frame && !*frame) return;
  std::size_t rank = 0;
  const bool known = frame && check(**frame, rank);
  const boot::FrameKind role = known ? (*frame)->kind : boot::FrameKind::join;
  UniqueFd socket = dismiss(fd);
  if (!known) return;  // a stranger; closing is all the answer it gets

  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const std::string welcome = boot::encode(boot::FrameKind::joined);
  if (::send(fd, welcome.data(), welcome.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(welcome.size()))
    return;
  used(role)[rank] = true;
  if (--missing_ == 0) {
    loop_.forget(listener_.get());
    listener_.reset();
  }
  admit_(role, static_cast<int>(rank), std::move(socket));
}

// True when the frame shows a ticket that has not been used in this role; `rank` is whose.
bool Gate::check(const boot::Frame& frame, std::size_t& rank) {
  if (frame.kind != boot::FrameKind::join && frame.kind != boot::FrameKind::mind) return false;
  boot::BodyReader body(frame.body);
  rank = body.u32();
  const std::string_view ticket = body.bytes(boot::ticket_bytes);
  if (!body.done() || rank >= rank_in_.size() || used(frame.kind)[rank]) return false;
  return equal_secret(ticket, std::string_view(tickets_).substr(rank * boot::ticket_bytes, boot::ticket_bytes));
}

UniqueFd Gate::dismiss(int fd) {
  const auto found = visitors_.find(fd);
  loop_.forget(fd);
  loop_.cancel(found->second.patience);
  UniqueFd socket = std::move(found->second.socket);
  visitors_.erase(found);
  return socket;
}

}  // namespace rmq::launch
