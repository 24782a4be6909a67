// SPDX-License-Identifier: BSD-3-Clause
// The table of choice.def, and what RMQ_COLL puts before it. Knows no communicators: programs print it, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rmq::mpi::coll {

enum class Collective : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
};

enum class Algorithm : std::uint8_t {
  dissemination,  // everybody with everybody at doubling distances
  tree,           // up and down a tree: of kFlatRanks branches for a barrier, a binomial one for an allreduce
  flat,           // one rank with all others
  binomial,       // a binomial tree
  linear,         // the root with every rank
  scatter,        // scatter, then allgather in a ring
  chain,          // a pipeline through all ranks
  doubling,       // recursive doubling
  halving,        // recursive halving (Rabenseifner)
  ring,
  bruck,
  pairwise,
  batch,  // all messages at once
  board,  // in memory that all members share
  hosts,  // two levels: inside of hosts, and between their first ranks
  trees,  // a pipeline through two trees of hosts
};

/// Where ranks share CPUs: the ranks of a flat pattern (choice.def) at most, and the branches of a barrier's tree. The
/// one rank would take longer to serve more of them than they wait for their turns.
inline constexpr int kFlatRanks = 64;

template <class Enum, Enum last>
constexpr auto each_of() {
  std::array<Enum, static_cast<std::size_t>(last) + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Enum>(i);
  return all;
}
inline constexpr auto kEachCollective = each_of<Collective, Collective::reduce_scatter>();
inline constexpr auto kEachAlgorithm = each_of<Algorithm, Algorithm::trees>();

std::string_view name_of(Collective c);
std::string_view name_of(Algorithm a);

/// Some algorithms.
using Set = std::uint32_t;
constexpr Set set_of(Algorithm a) {
  return Set{1} << static_cast<unsigned>(a);
}
constexpr Set set_of(std::initializer_list<Algorithm> some) {
  Set set = 0;
  for (const Algorithm a : some) set |= set_of(a);
  return set;
}

/// What all members know of a call. What `bytes` are: choice.def.
struct Case {
  Collective what;
  int ranks;
  std::uint64_t bytes;
  bool crowded;           // ranks outnumber CPUs
  bool together = false;  // all on one host, and messages go by its shared memory
};

struct Rule {
  Collective what;
  Algorithm algorithm;
  enum class If : std::uint8_t { any, yes, no };
  If is_crowded = If::any;
  If is_power = If::any;
  If is_together = If::any;
  int ranks_least = 1, ranks_most = std::numeric_limits<int>::max();
  std::uint64_t bytes_least = 0, bytes_most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t a_rank_least = 0;
  std::uint64_t total_most = std::numeric_limits<std::uint64_t>::max();

  constexpr Rule ranks(int least, int most = std::numeric_limits<int>::max()) const {
    Rule r = *this;
    r.ranks_least = least;
    r.ranks_most = most;
    return r;
  }
  constexpr Rule bytes(std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    Rule r = *this;
    r.bytes_least = least;
    r.bytes_most = most;
    return r;
  }
  constexpr Rule a_rank(std::uint64_t least) const { return with(&Rule::a_rank_least, least); }
  constexpr Rule total(std::uint64_t most) const { return with(&Rule::total_most, most); }
  constexpr Rule crowded() const { return with(&Rule::is_crowded, If::yes); }
  constexpr Rule uncrowded() const { return with(&Rule::is_crowded, If::no); }
  constexpr Rule together() const { return with(&Rule::is_together, If::yes); }
  constexpr Rule apart() const { return with(&Rule::is_together, If::no); }
  constexpr Rule power() const { return with(&Rule::is_power, If::yes); }
  constexpr Rule no_power() const { return with(&Rule::is_power, If::no); }

  bool holds(const Case& c) const {
    const auto p = static_cast<std::uint64_t>(c.ranks);
    const auto fits = [](If wanted, bool is) { return wanted == If::any || (wanted == If::yes) == is; };
    return what == c.what && c.ranks >= ranks_least && c.ranks <= ranks_most && c.bytes >= bytes_least &&
           c.bytes <= bytes_most && fits(is_crowded, c.crowded) && fits(is_together, c.together) &&
           c.bytes >= a_rank_least * p &&
           (total_most == std::numeric_limits<std::uint64_t>::max() || c.bytes * p <= total_most) &&
           fits(is_power, (p & (p - 1)) == 0);
  }
  /// Its conditions, for people: "crowded, 3-64 ranks, up to 64 KB".
  std::string text() const;

 private:
  // No template: Clang 14 would not have it in a constant.
  constexpr Rule with(If Rule::*member, If value) const {
    Rule r = *this;
    r.*member = value;
    return r;
  }
  constexpr Rule with(std::uint64_t Rule::*member, std::uint64_t value) const {
    Rule r = *this;
    r.*member = value;
    return r;
  }
};

/// The rows of choice.def.
std::span<const Rule> table();
/// All algorithms that a collective has.
Set algorithms_of(Collective c);

/// What is put before the table, in order: rules of RMQ_COLL.
class Choice {
 public:
  /// A list like "barrier=tree,allreduce:1k-64k@8-16=ring": a collective, bytes and ranks for which it holds (each a
  /// number or a range, whose end may be missing), and an algorithm. Errc::config for a word that is none, or an
  /// algorithm that the collective has not.
  static Result<Choice> parse(std::string_view list);

  Choice& force(Rule rule) {
    forced_.push_back(rule);
    return *this;
  }
  Choice& force(Collective what, Algorithm algorithm) { return force(Rule{what, algorithm}); }
  std::span<const Rule> forced() const { return forced_; }

  /// The first rule that holds and whose algorithm is among `possible`, of which one must fit any case.
  Algorithm choose(const Case& c, Set possible) const;

 private:
  std::vector<Rule> forced_;
};

}  // namespace rmq::mpi::coll
