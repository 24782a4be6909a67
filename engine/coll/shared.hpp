// SPDX-License-Identifier: BSD-3-Clause
// Stages of collectives among ranks of one host in memory that they share (release_gather.hpp), once they have some:
// all of a communicator that lies on one host, or those of one of its hosts.
#pragma once

#include <memory>

#include "engine/coll/coll.hpp"
#include "engine/coll/combine.hpp"
#include "engine/coll/host_memory.hpp"
#include "engine/coll/release_gather.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {

/// As one of those ranks has it. Errors, lost members among them, are noted in the collective's Steps, as with
/// messages.
class Shared {
 public:
  /// `ranks` are those of the communicator's that share the memory; this one is the `me`-th.
  Shared(std::unique_ptr<HostMemory> memory, Comm& comm, const Ranks& ranks, int me)
      : memory_(std::move(memory)), comm_(comm), ranks_(ranks), me_(me), rounds_(memory_->at(), ranks.size(), me) {}

  /// Bytes of a broadcast, of a block that is gathered, and of a vector that is reduced.
  static constexpr std::uint64_t kBcastMost = ReleaseGather::kAnswerMost;
  static constexpr std::uint64_t kBlockMost = ReleaseGather::kPlaceMost;
  static bool can_reduce(const Reduction& r) {
    return r.op.builtin != ReduceOp::none && r.type.dense && bytes_of(r) <= kBlockMost;
  }

  void bcast(Steps& s, const Buffer& data, int root);
  /// Blocks of one size.
  void gather(Steps& s, const Buffer& send, const Blocks& recv, int root);
  void reduce(Steps& s, const Reduction& r, const void* in, void* out, int root, Grouping grouping);

 private:
  struct Waiting;
  template <class Open>
  bool wait(Steps& s, const Open& open, int speaker);
  bool begin(Steps& s, bool speaks);
  void come(std::uint64_t bytes, int speaker);
  void bring(Steps& s, const Buffer& data, int speaker);
  bool wait_for_all(Steps& s);
  std::uint64_t trace_round(bool release) const;
  Rank first() const { return comm_.world_of(ranks_[0]); }

  const std::unique_ptr<HostMemory> memory_;
  Comm& comm_;
  const Ranks ranks_;
  const int me_;
  ReleaseGather rounds_;
};

/// What the ranks of these steps have; nullptr: none, or not yet. All call it alike: the third call makes it, or the
/// first one where `what` is forced to go by it.
Shared* shared_of(Steps& s, Collective what);
/// That way, if a stage `fits` and its ranks have such memory.
inline Set board_if(Steps& s, Collective what, bool fits) {
  return fits && shared_of(s, what) != nullptr ? set_of(Algorithm::board) : 0;
}

}  // namespace rmq::mpi::coll
