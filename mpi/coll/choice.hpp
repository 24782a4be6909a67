// Which algorithm serves which collective. The choice must come out alike on every rank, so it only looks at what all
// ranks know: the arguments that MPI wants equal, the number of ranks, and the Terms of the communicator.
//
// RMQ_COLL in the environment forces algorithms, for tests and measurements: a list like "barrier=tree,allreduce=ring".
// What rank 0 of the job has there holds for all. An algorithm that cannot do the job at hand (doubling on 6 ranks,
// say) is not taken.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bootstrap.hpp"

namespace rmq::adi {
class Device;
}

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
  board,  // in memory that all members share
  hosts,  // two levels: inside of hosts, and between their first ranks
};

/// What is left to choose where there is no board, and where the ranks do not lie on hosts as two levels want it:
/// whoever wishes for these takes what comes.
constexpr Algorithm flat_of(Algorithm wish) {
  return wish == Algorithm::board || wish == Algorithm::hosts ? Algorithm::automatic : wish;
}

struct Choice {
  Algorithm barrier = Algorithm::automatic;         // board, hosts, dissemination, tree, batch
  Algorithm bcast = Algorithm::automatic;           // hosts, flat, binomial, scatter, bruck, chain
  Algorithm reduce = Algorithm::automatic;          // hosts, flat, binomial, halving
  Algorithm allreduce = Algorithm::automatic;       // board, hosts, flat, batch, tree, doubling, halving, ring
  Algorithm gather = Algorithm::automatic;          // binomial, linear
  Algorithm scatter = Algorithm::automatic;         // binomial, linear
  Algorithm allgather = Algorithm::automatic;       // hosts, flat, batch, doubling, bruck, ring
  Algorithm alltoall = Algorithm::automatic;        // bruck, batch, pairwise
  Algorithm reduce_scatter = Algorithm::automatic;  // halving, pairwise
};

/// What the choice looks at besides arguments and number of ranks: the same on all members of a communicator.
class Terms {
 public:
  Terms() = default;
  Terms(const Choice& forced, bool crowded) : forced_(forced), crowded_(crowded) {}
  /// The terms that rank 0 settles: to be asked for.
  explicit Terms(Bootstrap& from) : from_(&from) {}

  bool known() const { return !from_; }
  /// Asks the connection server for them, without waiting for the answer; whether they are known now. To be asked again
  /// until then.
  Result<bool> ask() const;
  /// Asks until they are known, and polls the device meanwhile, also in a task. Throws a Failure when the job ends
  /// meanwhile.
  void await(adi::Device& device) const;

  // Once they are known.
  const Choice& forced() const { return forced_; }
  /// Whether ranks outnumber CPUs.
  bool crowded() const { return crowded_; }

 private:
  mutable Bootstrap* from_ = nullptr;  // until they are known
  mutable Choice forced_;
  mutable bool crowded_ = false;
};

/// What a list like RMQ_COLL's forces. Errc::config for a word that names nothing, or an algorithm that the collective
/// has not.
Result<Choice> parse_choice(std::string_view list);

/// The terms of all communicators of the job: what rank 0 brings, RMQ_COLL and Device::crowded(). Once on every rank;
/// costs no round trip. Errc::config for a word of this rank's RMQ_COLL that names nothing, or an algorithm that the
/// collective has not.
Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, bool crowded);

/// Ranks that one rank serves alone where context switches count more than messages. A rank of a crowded host that
/// waits for its turn costs the host a switch (0.7-2.8 us), a message 30-100 ns: in a flat pattern every rank takes its
/// turn once, in a binomial tree up to log2(p) times. Beyond this many ranks the one rank itself would take longer than
/// the others' turns.
inline constexpr int kFlatRanks = 64;

/// Ranks of a crowded host up to which all tell all in one turn each, which takes p (p - 1) messages but only half the
/// switches of a flat pattern (2 CPUs, barrier: 4 ranks 3.3 against 4.0 us, 3 ranks 2.6 against 3.9, 8 ranks 18.5
/// against 16.4).
inline constexpr int kBatchRanks = 4;

/// Whether `bytes` are enough for an algorithm that goes round all p ranks in p - 1 steps to replace one of log2(p)
/// steps: each further message has to save the time of so many bytes (a message takes as long as 2 to 8 KB, in shared
/// memory as over TCP).
constexpr bool worth_round(std::uint64_t bytes, int p, std::uint64_t bytes_a_step) {
  return bytes >= static_cast<std::uint64_t>(p) * bytes_a_step;
}

}  // namespace rmq::mpi::coll
