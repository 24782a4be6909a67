// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/greeting.hpp"

#include <algorithm>
#include <cerrno>

namespace rmq::tcp {

Greeting::State Greeting::step() {
  if (!trouble_.empty()) return State::broken;
  if (connecting_) {
    if (const ErrorCode ec = connect_result(socket_)) {
      refused_ = ec == boost::asio::error::connection_refused;
      return broken(ec.message());
    }
    connecting_ = false;
    tune(socket_, silence_);
  }
  for (;;) {
    if (!send_output()) return trouble_.empty() ? State::talking : State::broken;
    if (handshake_.state() == State::broken) return broken(handshake_.trouble());
    if (handshake_.state() != State::talking) return handshake_.state();
    // Never more than the handshake's own bytes, so that packets behind it stay in the socket for the connection.
    std::byte bytes[128];
    const Moved got = read(fd(), bytes, std::min(sizeof bytes, handshake_.wanted()));
    if (got.ended) return broken("it has hung up");
    if (got.error == EAGAIN) return State::talking;
    if (got.error != 0) return broken(ErrorCode(got.error, boost::system::system_category()).message());
    handshake_.take({bytes, got.bytes});
  }
}

// True when nothing is left to send.
bool Greeting::send_output() {
  while (!handshake_.output().empty()) {
    const Moved sent = write(fd(), handshake_.output().data(), handshake_.output().size());
    if (sent.error == EAGAIN) return false;
    if (sent.error != 0) {
      broken(ErrorCode(sent.error, boost::system::system_category()).message());
      return false;
    }
    handshake_.written(sent.bytes);
  }
  return true;
}

Greeting::State Greeting::broken(std::string why) {
  trouble_ = std::move(why);
  return State::broken;
}

}  // namespace rmq::tcp
