// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a communicator lie on hosts: what collectives of two levels need, which go between the first ranks
// of all hosts and inside of each. Made on first use, the same on all members.
#pragma once

#include "base/ranks.hpp"
#include "engine/object/objects.hpp"

namespace rmq::mpi::coll {

/// Ranks here are those of the communicator.
struct Levels {
  Ranks mine;          // on my host, in order
  int me = 0;          // my place among them
  Ranks firsts;        // the first rank of each host, in order
  int host = 0;        // my host's place among those
  int each = 0;        // ranks of every host; 0: they differ
  bool apart = false;  // hosts' ranks are neighbours: no other's lies between them
  bool two = false;    // there are several hosts, and several ranks on one
  /// Reductions that combine neighbours first, then neighbouring pairs, and so on (Grouping::doubling) group operands
  /// alike whether they go by hosts or not. So it is where hosts have a power of two of ranks, one host's behind the
  /// other's: each subtree of that size lies on one host.
  bool aligned = false;
};

/// Of an intra-communicator.
const Levels& levels_of(const Comm& comm);
/// The place among `firsts` of the host that this rank is on. Linear in the hosts before it, unless it is mine.
int host_of(const Comm& comm, int rank);

}  // namespace rmq::mpi::coll
