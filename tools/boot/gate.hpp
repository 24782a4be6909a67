// SPDX-License-Identifier: BSD-3-Clause
// The gate of rmqboot's connection server: lets in who shows that it knows a rank's ticket (start/boot_ticket.hpp),
// once for the rank and once for its minder, and nobody else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "start/boot_ticket.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Gate {
 public:
  /// `role`: join for a rank's connection, mind for its minder's.
  using Admit = std::function<void(boot::FrameKind role, int rank, UniqueFd socket)>;

  /// Takes over `listener`; `tickets` holds boot::ticket_bytes for each rank, in rank order. `admit` is called from the
  /// event loop when someone has come in. Strangers are dropped: after 5 s of silence, or at the first wrong byte. At
  /// most 64 more than have not come yet are kept waiting at once, and the oldest without a mark gives way: a crowd of
  /// silent ones keeps nobody out. Without descriptors the gate is shut for a moment.
  /// Without `minders` only ranks come.
  Gate(EventLoop& loop, UniqueFd listener, std::string tickets, Admit admit, bool minders = true);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Ranks and minders that have not come yet.
  int missing() const { return missing_; }
  /// Descriptors that a gate with so many missing may need, its listener included.
  static std::size_t descriptors(std::size_t missing) { return 1 + kUnmarked + missing; }

 private:
  static constexpr std::size_t kUnmarked = 64;
  using Id = std::uint64_t;  // grows: the order of coming
  struct Visitor {
    UniqueFd socket;
    boot::FrameReader reader{boot::Entry::most_bytes};
    EventLoop::TimerId patience;
    std::optional<boot::Entry> entry;  // has the mark, and has been challenged
  };
  using Place = std::map<Id, Visitor>::iterator;

  void listen();
  void shut_for_a_moment();
  void on_connection();
  void make_room();
  Place oldest_unmarked();
  void on_ready(Id id);
  bool hear(Visitor& visitor, const boot::Frame& frame);
  void let_in(Place place);
  static bool say(const Visitor& visitor, std::string_view frame);
  std::vector<bool>& used(boot::FrameKind role) { return role == boot::FrameKind::mind ? minder_in_ : rank_in_; }
  UniqueFd dismiss(Place place);

  EventLoop& loop_;
  UniqueFd listener_;
  std::string tickets_;
  std::vector<bool> rank_in_, minder_in_;  // by rank
  Admit admit_;
  std::map<Id, Visitor> visitors_;
  Id next_id_ = 0;
  std::optional<EventLoop::TimerId> opens_;  // while it is shut
  int missing_;
};

}  // namespace rmq::launch
