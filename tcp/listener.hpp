// SPDX-License-Identifier: BSD-3-Clause
// The door of a rank: one listening socket for each address it is to be called at (one on a single machine).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "tcp/socket.hpp"

namespace rmq::tcp {

class Listener {
 public:
  /// Listens on every address. `port` 0: any free port. `buffer`: kernel buffers of accepted connections, 0 for the
  /// system's. Errc::config when the port is taken or not allowed, Errc::system otherwise; the message names the
  /// endpoint.
  static Result<std::unique_ptr<Listener>> open(boost::asio::io_context& io, std::span<const Address> addresses,
                                                std::uint16_t port, std::uint64_t buffer);

  /// As they were bound, with real ports.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  /// How many sockets there are; `index` below counts them.
  std::size_t size() const { return acceptors_.size(); }
  int fd(std::size_t index) { return acceptors_[index].native_handle(); }

  /// The next caller at one of the sockets. `ec`: would_block when nobody waits, connection_aborted when the caller has
  /// given up, otherwise the system's trouble (out of file descriptors, say): then try again later.
  Socket accept(boost::asio::io_context& io, std::size_t index, ErrorCode& ec);

 private:
  Listener() = default;
  std::vector<Acceptor> acceptors_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace rmq::tcp
