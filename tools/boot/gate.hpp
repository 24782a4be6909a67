// The gate of rmqboot's connection server: lets in who shows a rank's ticket, once for the
// rank and once for its minder, and nobody else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/boot_wire.hpp"
#include "tools/launch/fd.hpp"
#include "tools/launch/loop.hpp"

namespace rmq::launch {

class Gate {
 public:
  /// `role`: join for a rank's connection, mind for its minder's.
  using Admit = std::function<void(boot::FrameKind role, int rank, UniqueFd socket)>;

  /// Takes over `listener`; `tickets` holds boot::ticket_bytes for each rank, in rank order. `admit` is called from the
  /// event loop when someone has come in. Strangers are dropped: after 5 s of silence, or at the first wrong byte; at
  /// most 64 + the number of the missing are kept waiting at once.
  Gate(EventLoop& loop, UniqueFd listener, std::string tickets, Admit admit);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Ranks and minders that have not come yet.
  int missing() const { return missing_; }

 private:
  struct Visitor {
    UniqueFd socket;
    boot::FrameReader reader;
    EventLoop::TimerId patience;
  };

  void on_connection();
  void on_ready(int fd);
  bool check(const boot::Frame& frame, std::size_t& rank);
  std::vector<bool>& used(boot::FrameKind role) { return role == boot::FrameKind::mind ? minder_in_ : rank_in_; }
  UniqueFd dismiss(int fd);

  EventLoop& loop_;
  UniqueFd listener_;
  std::string tickets_;
  std::vector<bool> rank_in_, minder_in_;  // by rank
  Admit admit_;
  std::unordered_map<int, Visitor> visitors_;  // by descriptor
  int missing_;
};

}  // namespace rmq::launch
