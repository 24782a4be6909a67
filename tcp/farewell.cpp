// The orderly end of connections: LINK_CLOSE both ways, and patience, so that nobody loses data to a reset. (A socket
// that is closed while something is still on its way to it makes its kernel answer with one.)
#include <poll.h>

#include <utility>
#include <vector>

#include "base/os/clock.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp {

// The peer has said good-bye and will not send any more: answer, and let go.
void TcpMethod::depart(Link& link) {
  say_goodbye(link);
  link.state = Link::State::left;
  if (link.hot) cool(link);
  disconnect(link);
  link.out.fail(sink_, Errc::peer_lost);
  link.in.fail(link.peer, sink_, Errc::peer_lost);
}

// LINK_CLOSE goes behind everything else; when all has been written, our side of the connection ends.
void TcpMethod::say_goodbye(Link& link) {
  if (link.out.error() != 0) return;
  if (!std::exchange(link.goodbye_said, true)) link.out.say_goodbye();
  link.out.pump(link.fd, sink_);
  if (!link.out.empty() || link.shut) return;
  ErrorCode ignored;
  link.socket->shutdown(Socket::shutdown_send, ignored);
  link.shut = true;
}

void TcpMethod::close() {
  if (std::exchange(closing_, true)) return;
  switchboard_->stop();
  for (const auto& link : links_) {
    if (link && link->state == Link::State::up) say_goodbye(*link);
  }
  wait_for_farewells();
  for (const auto& link : links_) {
    if (!link || link->state != Link::State::up) continue;
    // It did not answer in time; what it should have is on its way, unless our own good-bye is stuck.
    link->state = Link::State::left;
    if (link->hot) cool(*link);
    disconnect(*link);
    link->out.fail(sink_, Errc::peer_lost);
    link->in.fail(link->peer, sink_, Errc::peer_lost);
  }
  busy_.clear();
}

// Until every peer has ended its side too, or kFarewell has passed. Sleeps meanwhile.
void TcpMethod::wait_for_farewells() {
  const std::uint64_t until = os::now_ns() + kFarewell;
  std::vector<pollfd> waiting;
  for (std::uint64_t now = os::now_ns(); now < until; now = os::now_ns()) {
    waiting.clear();
    for (const auto& link : links_) {
      if (!link || link->state != Link::State::up) continue;
      waiting.push_back({link->fd, static_cast<short>(link->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (waiting.empty()) return;
    ::poll(waiting.data(), waiting.size(), static_cast<int>((until - now) / 1000000 + 1));
    for (const auto& link : links_) {
      if (!link || link->state != Link::State::up) continue;
      say_goodbye(*link);
      if (link->out.error() != 0) {
        drain(*link, "it has closed the connection");
      } else {
        service(*link);
      }
    }
  }
}

}  // namespace rmq::tcp
