// Which algorithm serves which collective. The choice must come out alike on every rank, so it only looks at what all
// ranks know: the arguments that MPI wants equal, the number of ranks, and facts that one rank has told the others.
//
// RMQ_COLL in the environment forces algorithms, for tests and measurements: a list like "barrier=tree,allreduce=ring".
// It must be the same on every rank. An algorithm that cannot do the job at hand (doubling on 6 ranks, say) is not
// taken.
#pragma once

#include <cstdint>

#include "mpi/internal/runtime.hpp"

namespace rmq::mpi::coll {

enum class Algorithm : std::uint8_t {
  automatic,
  dissemination,  // everybody with everybody at doubling distances
  tree,           // up and down a wide tree
  flat,           // one rank with all others
  binomial,       // a binomial tree
  linear,         // the root with every rank
  scatter,        // scatter, then allgather
  chain,          // a pipeline through all ranks
  doubling,       // recursive doubling
  halving,        // recursive halving (Rabenseifner)
  ring,
  bruck,
  pairwise,
  batch,  // all messages at once
};

struct Choice {
  Algorithm barrier = Algorithm::automatic;         // dissemination, tree, batch
  Algorithm bcast = Algorithm::automatic;           // flat, binomial, scatter, chain
  Algorithm reduce = Algorithm::automatic;          // flat, binomial, halving
  Algorithm allreduce = Algorithm::automatic;       // flat, batch, doubling, halving, ring
  Algorithm gather = Algorithm::automatic;          // binomial, linear
  Algorithm scatter = Algorithm::automatic;         // binomial, linear
  Algorithm allgather = Algorithm::automatic;       // flat, batch, doubling, bruck, ring
  Algorithm alltoall = Algorithm::automatic;        // bruck, batch, pairwise
  Algorithm reduce_scatter = Algorithm::automatic;  // halving, pairwise
};

/// What RMQ_COLL forces.
const Choice& forced();

/// Called by MPI_Init on every rank, when the device stands: reads RMQ_COLL, and rank 0 tells the job whether ranks
/// outnumber CPUs where it runs. Costs no round trip. Errc::config for a word of RMQ_COLL that names nothing.
Result<void> publish_choice();

/// Whether ranks outnumber CPUs (Device::crowded()), in rank 0's eyes: the same answer on every rank. The first call
/// may ask the connection server.
bool crowded();

/// Ranks that one rank serves alone where context switches count more than messages. A rank of a crowded host that
/// waits for its turn costs the host a switch (0.7-2.8 us, PERFORMANCE.md), a message 30-100 ns: in a flat pattern
/// every rank takes its turn once, in a binomial tree up to log2(p) times. Beyond this many ranks the one rank itself
/// would take longer than the others' turns.
inline constexpr int kFlatRanks = 64;

/// Ranks of a crowded host up to which all tell all in one turn each, which takes p (p - 1) messages but only half the
/// switches of a flat pattern (2 CPUs, barrier: 4 ranks 3.3 against 4.0 us, 3 ranks 2.6 against 3.9, 8 ranks 18.5
/// against 16.4).
inline constexpr int kBatchRanks = 4;

}  // namespace rmq::mpi::coll
