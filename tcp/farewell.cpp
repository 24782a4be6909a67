// SPDX-License-Identifier: BSD-3-Clause
// The orderly end of links: LINK_CLOSE both ways, and patience, so that nobody loses data to a reset. (A socket that is
// closed while something is still on its way to it makes its kernel answer with one.)
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/os/clock.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp {

// The peer has said good-bye and will not send any more: answer, and let go.
void TcpMethod::depart(Link& link) {
  if (link.connected()) say_goodbye(link);
  leave(link);
}

// Nothing more comes from the peer, and nothing goes to it. Its process may have ended since: that is to be told.
void TcpMethod::leave(Link& link) {
  if (link.state == Link::State::lost || link.state == Link::State::left) return;
  if (link.ended) return declare_lost(link, *link.ended);
  link.go(Link::State::left);
  disconnect(link);
  link.out.fail(sink_, Errc::peer_lost);
  link.in.fail(link.peer, sink_, Errc::peer_lost);
  tell_of_room(link);
}

// LINK_CLOSE goes behind everything else; when all has been written, our side of the connection ends.
void TcpMethod::say_goodbye(Link& link) {
  if (link.out.error() != 0) return;
  if (!std::exchange(link.goodbye_said, true)) link.out.owe(Kind::LINK_CLOSE);
  link.out.pump(link.fd, sink_);
  if (!link.out.empty() || link.shut) return;
  ErrorCode ignored;
  link.socket->shutdown(Socket::shutdown_send, ignored);
  link.shut = true;
}

// Until every peer has ended its side too, or kFarewell has passed. Sleeps meanwhile. A connection that breaks is made
// again: the last words of this rank may have been on it.
void TcpMethod::close() {
  if (std::exchange(closing_, true)) return;
  const std::uint64_t until = os::now_ns() + kFarewell;
  const auto waits = [](const auto& link) { return link && (link->connected() || link->state == Link::State::cut); };
  for (std::uint64_t now = os::now_ns(); now < until && std::ranges::any_of(links_, waits); now = os::now_ns()) {
    for (const auto& link : links_) {
      if (!link || !link->connected()) continue;
      say_goodbye(*link);
      if (!link->out.idle()) make_busy(*link);
    }
    if (poll() > 0) continue;
    pollfd ready{ready_->fd(), POLLIN, 0};
    if (arm()) ::poll(&ready, 1, static_cast<int>((until - now) / 1000000 + 1));
    disarm();
  }
  switchboard_->stop();
  // Who did not answer in time: what it should have is on its way, unless our own good-bye is stuck.
  for (const auto& link : links_) {
    if (link && waits(link)) leave(*link);
  }
  busy_.clear();
}

}  // namespace rmq::tcp
