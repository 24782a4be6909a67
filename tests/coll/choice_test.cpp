// What is chosen, and by whom: all ranks go by what rank 0 has settled, and what is chosen takes few messages.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "coll/data.hpp"
#include "coll/team.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using coll::Algorithm;
using coll::Terms;

TEST(Terms, AreThoseOfRankZeroEverywhere) {
  const auto board = local_bootstraps(3);
  const auto second = coll::settle_terms(*board[1], "allreduce=halving", false);  // before rank 0 has settled anything
  EXPECT_FALSE(second->ask().value());
  const auto first = coll::settle_terms(*board[0], "allreduce=ring,barrier=tree", true);
  const auto third = coll::settle_terms(*board[2], "", false);
  for (const auto* terms : {&first, &second, &third}) {
    ASSERT_TRUE(terms->has_value());
    EXPECT_TRUE((*terms)->ask().value());
    EXPECT_EQ((*terms)->forced().allreduce, Algorithm::ring);
    EXPECT_EQ((*terms)->forced().barrier, Algorithm::tree);
    EXPECT_EQ((*terms)->forced().bcast, Algorithm::automatic);
    EXPECT_TRUE((*terms)->crowded());
  }
}

TEST(Terms, RefuseWordsThatNameNothing) {
  const auto board = local_bootstraps(1);
  for (const char* list :
       {"allreduce=rings", "allreduces=ring", "allreduce", "=ring", "reduce=ring", "barrier=tree,bcast=tree"}) {
    EXPECT_FALSE(coll::settle_terms(*board[0], list, false)) << list;
  }
  EXPECT_TRUE(coll::settle_terms(*board[0], "barrier=tree,allreduce=tree", false));
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
  Terms terms({}, crowded);
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
