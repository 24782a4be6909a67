// SPDX-License-Identifier: BSD-3-Clause
// The flight recorder of one rank, read from the memory it is written to, by whoever holds that memory: while the rank
// runs, hangs, or after its death. (Full traces: tools/trace/reader.hpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/trace.hpp"
#include "tools/trace/entry.hpp"

namespace rmq::trace {

/// A view of memory that stays the caller's. The rank may write to it all the time: every look is a copy, and what was
/// overwritten meanwhile is left out.
class View {
 public:
  /// Nothing when there is no recorder (yet), or its header makes no sense: the rank's memory is not trusted.
  static std::optional<View> over(const std::byte* memory, std::size_t bytes);

  int rank() const { return header_->rank; }
  int pid() const { return header_->pid; }
  /// MPI function in which the rank is; 0: none.
  std::uint32_t call() const { return header_->call.load(std::memory_order_relaxed); }
  /// Events so far: it stands still while the rank moves no packet.
  std::uint64_t written() const { return header_->written.load(std::memory_order_acquire); }
  /// The rank has come to its proper end.
  bool finished() const { return header_->ticks_end != 0; }

  /// The last `most` events, the oldest first. Entry::ns counts back from now: it is negative.
  std::vector<Entry> last(std::size_t most) const;

  /// The last events for people, one line each, under a line that says where the rank was.
  std::string report(std::size_t most) const;

  /// The rank for which this one waited when it recorded its last events: of a message that it wanted or could not
  /// send, of a rendezvous, a lock or an epoch; kNoRank when none can be told.
  Rank waited_for() const;

 private:
  View(const TraceHeader* header, std::uint64_t capacity) : header_(header), capacity_(capacity) {}
  const TraceHeader* header_;
  std::uint64_t capacity_;  // as checked
};

}  // namespace rmq::trace
