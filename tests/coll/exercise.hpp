// SPDX-License-Identifier: BSD-3-Clause
// One collective of the sweep: everybody's arguments, the call, and what must be there afterwards, computed from the
// arguments alone.
#pragma once

#include <memory>
#include <string>

#include "coll/data.hpp"
#include "coll/team.hpp"
#include "methods/chance.hpp"

namespace rmq::testing {

enum class What {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
};
inline constexpr int kWhats = static_cast<int>(What::exscan) + 1;
const char* name_of(What what);

class Exercise {
 public:
  virtual ~Exercise() = default;
  /// Calls the collective on a member's part of the arguments; an MPI error class. Any number of times, if
  /// repeatable().
  virtual int call(int member) = 0;
  /// Once all members have called: the first fault; nothing when all is well.
  virtual std::string verdict() = 0;
  /// Whether another call gives the same: nothing is in place.
  virtual bool repeatable() const = 0;
  virtual std::string describe() const = 0;
};

/// Draws the arguments; all buffers together take about `budget` bytes at most.
std::unique_ptr<Exercise> draw_move(What what, Team& team, methods::Chance& chance, std::uint64_t budget);
std::unique_ptr<Exercise> draw_reduction(What what, Team& team, methods::Chance& chance, std::uint64_t budget);
inline std::unique_ptr<Exercise> draw(What what, Team& team, methods::Chance& chance, std::uint64_t budget) {
  return what < What::reduce ? draw_move(what, team, chance, budget) : draw_reduction(what, team, chance, budget);
}

/// A number of bytes where an algorithm may end or begin, or a little beside it; at most `most`.
std::uint64_t draw_bytes(methods::Chance& chance, std::uint64_t most);

}  // namespace rmq::testing
