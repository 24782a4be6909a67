// SPDX-License-Identifier: BSD-3-Clause
// A connection that is being opened: a socket and the handshake that runs over it, moved along by readiness.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tcp/handshake.hpp"
#include "tcp/socket.hpp"

namespace rmq::tcp {

class Greeting {
 public:
  /// `connecting`: the socket's connect is still under way, and its writability will tell.
  /// `silence`: as tune().
  Greeting(Socket socket, const Handshake& handshake, bool connecting, std::uint64_t silence)
      : socket_(std::move(socket)), handshake_(handshake), connecting_(connecting), silence_(silence) {}

  /// talking: wait until the socket is ready, then step() again. proven: accept() or reject(), then step() again.
  /// open: take_socket(). rejected, broken: of no more use; see trouble().
  using State = Handshake::State;

  /// To be called when the socket is ready (see wants_write()), never on a guess. Never waits.
  State step();

  void accept(Past past) { handshake_.accept(past); }
  void reject(std::uint32_t reason, std::uint32_t connection = 0) { handshake_.reject(reason, connection); }

  bool connecting() const { return connecting_; }
  bool wants_write() const { return connecting_ || !handshake_.output().empty(); }
  int fd() { return socket_.native_handle(); }
  Rank peer() const { return handshake_.peer(); }
  std::uint32_t reason() const { return handshake_.reason(); }
  std::uint64_t session() const { return handshake_.session(); }
  Past theirs() const { return handshake_.theirs(); }
  std::uint32_t later() const { return handshake_.later(); }
  const std::string& trouble() const { return trouble_; }
  /// Nobody listens there.
  bool refused() const { return refused_; }
  Socket take_socket() { return std::move(socket_); }

 private:
  State broken(std::string why);
  bool send_output();

  Socket socket_;
  Handshake handshake_;
  bool connecting_;
  bool refused_ = false;
  std::uint64_t silence_;
  std::string trouble_;
};

}  // namespace rmq::tcp
