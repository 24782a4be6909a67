// SPDX-License-Identifier: BSD-3-Clause
// What is chosen, and by whom: all ranks go by what rank 0 forces and any host says, and what is chosen takes few
// messages.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "coll/data.hpp"
#include "coll/team.hpp"
#include "engine/message/transfer.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using coll::Algorithm;
using coll::Collective;
using coll::Terms;

TEST(Terms, AreThoseOfRankZeroEverywhere) {
  const auto board = local_bootstraps(3);
  const auto second = coll::settle_terms(*board[1], "allreduce=halving", {});  // before rank 0 has settled anything
  EXPECT_FALSE(second->ask(true).value());
  const auto first = coll::settle_terms(*board[0], "allreduce=ring,barrier=tree", {true});
  const auto third = coll::settle_terms(*board[2], "", {});
  for (const auto* terms : {&first, &second, &third}) {
    ASSERT_TRUE(terms->has_value());
    EXPECT_TRUE((*terms)->ask(true).value());
    const coll::Choice& choice = (*terms)->choice();
    ASSERT_EQ(choice.forced().size(), 2u);
    EXPECT_EQ(choice.choose({Collective::allreduce, 4, 8, false}, coll::algorithms_of(Collective::allreduce)),
              Algorithm::ring);
    EXPECT_EQ(choice.choose({Collective::barrier, 4, 0, false}, coll::algorithms_of(Collective::barrier)),
              Algorithm::tree);
    EXPECT_TRUE((*terms)->traits().crowded);
  }
}

// Whichever host has fewer CPUs than ranks, all of the job know.
TEST(Terms, AreCrowdedWhereAnyHostIs) {
  for (const Hosts& hosts : {Hosts::blocks(7, 2), Hosts(std::vector<int>{2, 0, 1, 1, 2, 0, 3})}) {
    const int n = hosts.size();
    for (int crowded = -1; crowded < hosts.hosts(); ++crowded) {
      for (const int first : {0, 1, n - 1}) {  // who asks first
        const auto board = local_bootstraps(hosts);
        std::vector<Terms> terms;
        for (int r = 0; r < n; ++r) {
          const coll::Traits own{hosts[r] == crowded};
          terms.push_back(*coll::settle_terms(*board[static_cast<std::size_t>(r)], "", own));
        }
        for (int i = 0; i < n; ++i) {
          const Terms& mine = terms[static_cast<std::size_t>((first + i) % n)];
          for (int asked = 0; !mine.ask(true).value(); ++asked) ASSERT_LT(asked, hosts.hosts());
          EXPECT_EQ(mine.traits().crowded, crowded >= 0) << hosts.hosts() << " hosts, " << crowded << ", " << first + i;
        }
      }
    }
  }
}

// A host whose ranks have not begun yet may be crowded.
TEST(Terms, WaitForEachHost) {
  const Hosts hosts = Hosts::blocks(3, 1);
  const auto board = local_bootstraps(hosts);
  const auto first = coll::settle_terms(*board[0], "", {}), second = coll::settle_terms(*board[1], "", {});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(first->ask(true).value() || second->ask(true).value());
  EXPECT_TRUE(second->ask(false).value());  // for communicators that have agreed themselves
  const auto third = coll::settle_terms(*board[2], "", {true});
  EXPECT_TRUE(second->ask(true).value() && first->ask(true).value() && third->known(false) == false);
  EXPECT_TRUE(first->traits().crowded && second->traits().crowded);
}

TEST(Terms, RefuseWordsThatNameNothing) {
  const auto board = local_bootstraps(1);
  for (const char* list :
       {"allreduce=rings", "allreduces=ring", "allreduce", "=ring", "reduce=ring", "barrier=tree,bcast=tree",
        "bcast:=flat", "bcast:8q=flat", "bcast:8-4=flat", "bcast@=flat", "bcast@x=flat", "bcast:1k-2k-3k=flat",
        "bcast@4:8=flat", "bcast:99999999999999999999=flat", "bcast:-8=flat"}) {
    EXPECT_FALSE(coll::settle_terms(*board[0], list, {})) << list;
  }
  EXPECT_TRUE(coll::settle_terms(*board[0], "barrier=tree,allreduce=tree", {}));
}

TEST(Choice, TakesTheFirstRuleThatHoldsAndCanBe) {
  const auto parsed = coll::Choice::parse("bcast:1k-64k@8-16=chain,bcast:64k-=binomial,bcast:5=flat,allreduce=halving");
  ASSERT_TRUE(parsed);
  const coll::Set all = coll::algorithms_of(Collective::bcast);
  const auto chosen = [&](int p, std::uint64_t bytes) {
    return parsed->choose({Collective::bcast, p, bytes, false}, all);
  };
  EXPECT_EQ(chosen(8, 1024), Algorithm::chain);
  EXPECT_EQ(chosen(16, 65536), Algorithm::chain);
  EXPECT_EQ(chosen(17, 65536), Algorithm::binomial);
  EXPECT_EQ(chosen(8, 1 << 20), Algorithm::binomial);
  EXPECT_EQ(chosen(8, 5), Algorithm::flat);
  EXPECT_EQ(chosen(8, 6), Algorithm::board);  // the table
  const coll::Set can = coll::set_of({Algorithm::doubling, Algorithm::flat});
  EXPECT_EQ(parsed->choose({Collective::allreduce, 4, 1 << 20, false}, can), Algorithm::doubling);
}

// A message that is copied once beats two copies by the board, where only one rank is to read it.
TEST(Choice, SendsLongBroadcastsToOneRankByAMessage) {
  const coll::Choice choice;
  for (const bool crowded : {false, true}) {
    const auto chosen = [&](int p, std::uint64_t bytes) {
      return choice.choose({Collective::bcast, p, bytes, crowded}, coll::algorithms_of(Collective::bcast));
    };
    EXPECT_EQ(chosen(2, 8 * 1024), Algorithm::board);
    EXPECT_NE(chosen(2, 16 * 1024), Algorithm::board);
    EXPECT_EQ(chosen(3, 32 * 1024), Algorithm::board);
  }
}

// Whatever a call cannot do, some row is left for it, and each row can be the one.
TEST(Choice, HasARowForEveryCaseAndACaseForEveryRow) {
  std::vector<int> used(coll::table().size());
  const coll::Choice choice;
  const coll::Set flats = ~coll::set_of({Algorithm::board, Algorithm::hosts, Algorithm::trees});
  const coll::Set uncut = ~coll::set_of({Algorithm::halving, Algorithm::ring, Algorithm::scatter, Algorithm::chain});
  for (const Collective what : coll::kEachCollective) {
    for (const int p : {2, 3, 4, 5, 8, 9, 17, 32, 64, 65, 130, 1024, 1100, 65536}) {
      for (std::uint64_t bytes = 0; bytes <= 1 << 28; bytes = bytes * 3 / 2 + 1) {
        for (const bool crowded : {false, true}) {
          for (const bool together : {false, true}) {
            for (const coll::Set wanted :
                 {~coll::Set{0}, flats, flats & uncut, flats & ~coll::set_of(Algorithm::doubling),
                  ~coll::set_of(Algorithm::board) & uncut, ~coll::set_of({Algorithm::board, Algorithm::hosts})}) {
              const coll::Case c{what, p, bytes, crowded, together};
              const coll::Set possible = coll::algorithms_of(what) & wanted;
              const Algorithm chosen = choice.choose(c, possible);
              EXPECT_TRUE(possible & coll::set_of(chosen));
              for (std::size_t i = 0; i < used.size(); ++i) {
                const coll::Rule& r = coll::table()[i];
                if (r.holds(c) && (possible & coll::set_of(r.algorithm))) {
                  ++used[i];
                  break;
                }
              }
            }
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    const coll::Rule& r = coll::table()[i];
    const bool last =
        r.what == Collective::reduce_scatter && r.algorithm == Algorithm::flat;  // for what does not commute
    EXPECT_TRUE(used[i] > 0 || last) << coll::name_of(r.what) << " " << coll::name_of(r.algorithm) << ": " << r.text();
  }
}

// A persistent collective that is started again does what it has chosen at first, whatever would be chosen now.
TEST(Choice, OfAPersistentCollectiveIsMadeOnce) {
  constexpr int kRanks = 8;
  const auto way = [](Algorithm a) { return Terms(coll::Choice().force(Collective::barrier, a), {}); };
  static_cast<void>(moved_types());  // types are made on first use
  methods::InprocRules plain;
  Fibers fibers(kRanks, plain);
  Terms terms = way(Algorithm::tree);
  std::vector<int> all(kRanks);
  std::iota(all.begin(), all.end(), 0);
  Team team(fibers, 2, terms, all);
  const auto run = [&](bool persistent, Background& task, int rank) {
    const std::size_t before = fibers.sent(rank).size();
    task.start();
    while (!task.over()) fibers.device(rank).MPID_Poll(true);
    EXPECT_EQ(task.code(), MPI_SUCCESS);
    const std::size_t by_tree = rank == 0 ? kRanks - 1 : 1, by_dissemination = 3;
    EXPECT_EQ(fibers.sent(rank).size() - before, persistent ? by_tree : by_dissemination) << rank;
  };
  int ready = 0;
  EXPECT_TRUE(fibers.run([&](int rank) {
    mpi::Comm& c = team.comm(rank);
    Background again(c, mpi::new_repeated_tag(c), [&c] { return coll::barrier(c); });
    run(true, again, rank);
    fibers.barrier(rank);
    if (++ready == 1) terms = way(Algorithm::dissemination);
    fibers.barrier(rank);
    run(true, again, rank);
    Background fresh(c, -1, [&c] { return coll::barrier(c); });
    run(false, fresh, rank);
    fibers.barrier(rank);
  }));
}

/// Messages that a collective takes, `call(comm)` on each rank of a new world.
struct Cost {
  int most = 0;   // that one rank sends
  int total = 0;  // of all ranks
};
template <class Call>
Cost cost_of(int p, bool crowded, Call&& call) {
  methods::InprocRules plain;
  plain.fragment_max = 1 << 20;
  Fibers fibers(p, plain);
  Terms terms({}, {crowded});
  std::vector<int> everyone(static_cast<std::size_t>(p));
  std::iota(everyone.begin(), everyone.end(), 0);
  Team team(fibers, 2, terms, everyone);
  EXPECT_TRUE(fibers.run([&](int rank) { EXPECT_EQ(call(team.comm(rank)), MPI_SUCCESS); }));
  Cost cost;
  for (int r = 0; r < p; ++r) {
    int sent = 0;
    for (const std::string& packet : fibers.sent(r))
      sent += packet.starts_with("SHORT") || packet.starts_with("REQUEST_SEND");
    cost.most = std::max(cost.most, sent);
    cost.total += sent;
  }
  return cost;
}

const CollOp& sums() {
  return reductions().front();
}

Cost allreduce_cost(int p, bool crowded, long bytes) {
  return cost_of(p, crowded, [&](mpi::Comm& c) {
    const auto n = static_cast<std::size_t>(bytes) / 4;
    std::vector<int> in(n, 1), out(n);
    const coll::Reduction r{sums().op, const_cast<mpi::Datatype&>(sums().type->type), static_cast<MPI_Count>(n),
                            *c.device};
    return coll::allreduce(c, in.data(), out.data(), r);
  });
}

// Up to 32 KB no algorithm may go round all ranks: p - 1 steps would take longer than the data.
class Steps : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  int p() const { return std::get<0>(GetParam()); }
  bool crowded() const { return std::get<1>(GetParam()); }
  /// A few for each halving of the ranks; where a rank serves all others that share its CPUs, one for each of those.
  int bound() const {
    const int rounds = std::bit_width(static_cast<unsigned>(p() - 1));
    return std::max(2 * rounds + 2, crowded() && p() <= coll::kFlatRanks ? p() : 0);
  }
};

TEST_P(Steps, AllreduceTakesFew) {
  for (const long bytes : {8, 8192, 16 * 1024, 32 * 1024, 64 * 1024}) {
    EXPECT_LE(allreduce_cost(p(), crowded(), bytes).most, bound()) << bytes << " bytes";
  }
}

TEST_P(Steps, BcastTakesFew) {
  for (const std::uint64_t bytes : {8, 8192, 16 * 1024, 32 * 1024}) {
    const Cost cost = cost_of(p(), crowded(), [&](mpi::Comm& c) {
      std::vector<std::byte> data(bytes);
      return coll::bcast(c, coll::raw(data.data(), bytes), 0);
    });
    if (p() >= 32) {
      EXPECT_LE(cost.most, bound()) << bytes << " bytes";
    }
  }
}

TEST_P(Steps, AllgatherTakesFew) {
  for (const std::uint64_t total : {1024, 16 * 1024, 32 * 1024, 80 * 1024}) {
    const std::uint64_t block = total / static_cast<std::uint64_t>(p());
    const Cost cost = cost_of(p(), crowded(), [&](mpi::Comm& c) {
      std::vector<std::byte> mine(block), all(block * static_cast<std::uint64_t>(p()));
      return coll::allgather(c, coll::raw(mine.data(), block),
                             coll::Blocks::uniform(all.data(), static_cast<MPI_Count>(block), coll::byte_type()));
    });
    if (p() >= 32) {
      EXPECT_LE(cost.most, bound()) << total << " bytes";
    }
  }
}

TEST_P(Steps, ReduceScatterTakesFew) {
  for (const MPI_Count each : {1, 64, 128}) {
    const Cost cost = cost_of(p(), crowded(), [&](mpi::Comm& c) {
      std::vector<int> in(static_cast<std::size_t>(each * p()), 1), out(static_cast<std::size_t>(each));
      const coll::Reduction r{sums().op, const_cast<mpi::Datatype&>(sums().type->type), each * p(), *c.device};
      return coll::reduce_scatter(c, in.data(), out.data(), r, coll::Numbers(each, 0));
    });
    if (p() >= 32) {
      EXPECT_LE(cost.most, bound()) << each << " elements each";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Steps,
                         ::testing::Combine(::testing::Values(4, 33, 64, 65, 127, 130), ::testing::Bool()));

// One rank more than a flat pattern serves must not cost much more than one rank does.
TEST(Choice, DoesNotJumpBesideTheFlatPattern) {
  for (const long bytes : {8, 64 * 1024}) {
    const Cost before = allreduce_cost(coll::kFlatRanks, true, bytes),
               after = allreduce_cost(coll::kFlatRanks + 1, true, bytes);
    EXPECT_LE(after.total, before.total + 8) << bytes;
    EXPECT_LE(after.most, before.most) << bytes;
  }
}

}  // namespace
}  // namespace rmq::testing
