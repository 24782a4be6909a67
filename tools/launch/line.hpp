// SPDX-License-Identifier: BSD-3-Clause
// One rank's socket on this host: frames (start/boot_wire.hpp) in both directions.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "start/boot_wire.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class RankLine {
 public:
  using Hear = std::function<void(const boot::Frame& frame)>;
  /// The socket has ended; `damage`: because what came is no frame, empty when the rank has closed it.
  using Ended = std::function<void(const std::string& damage)>;

  explicit RankLine(EventLoop& loop) : loop_(loop) {}
  ~RankLine() { close(); }
  RankLine(const RankLine&) = delete;
  RankLine& operator=(const RankLine&) = delete;

  /// From now on the rank is heard, by the event loop or drain().
  void open(UniqueFd socket, Hear hear, Ended ended);
  bool is_open() const { return socket_.is_open(); }
  /// Without a word to `ended`.
  void close();

  void send(std::string_view frame);
  /// Hears all that the rank has said so far.
  void drain();

  /// The process that has sent its last frame, as the kernel tells it; 0: it does not, as over TCP. Only the kernel
  /// knows it in our terms: the rank may live in a PID namespace of its own.
  pid_t sender() const { return sender_; }
  /// Who sends is known now.
  void forget_senders();

 private:
  bool receive();
  ssize_t read_socket(char* at, std::size_t size);
  void flush();

  EventLoop& loop_;
  UniqueFd socket_;
  Hear hear_;
  Ended ended_;
  boot::FrameReader reader_;
  pid_t sender_ = 0;
  bool asks_senders_ = true;
  std::string outgoing_;      // what the socket has not taken yet
  bool awaits_room_ = false;  // the loop watches for EPOLLOUT
};

}  // namespace rmq::launch
