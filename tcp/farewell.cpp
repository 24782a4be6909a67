// How close() waits for the peers, so that none of them loses data to a reset: a socket that is closed while something
// is still on its way to it makes its kernel answer with one.
#include <poll.h>

#include <vector>

#include "base/os/clock.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp {

/// Until every peer has ended its side too, or kFarewell has passed. Sleeps meanwhile.
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
        while (link->state == Link::State::up && service(*link) > 0) {
        }
        if (link->state == Link::State::up) lose(*link, Errc::peer_lost, "it has closed the connection");
      } else {
        service(*link);
      }
    }
  }
}

}  // namespace rmq::tcp
