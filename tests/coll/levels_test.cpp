// SPDX-License-Identifier: BSD-3-Clause
// Collectives of two levels: which ranks they see on which host, that they send little between hosts, and that sums
// have the bits that they have without hosts.
#include "engine/coll/levels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "coll/data.hpp"
#include "coll/team.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using coll::Algorithm;
using coll::Terms;

std::vector<int> everyone(int p) {
  std::vector<int> all(static_cast<std::size_t>(p));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Levels, SeeTheRanksOfEachHost) {
  struct Case {
    std::vector<int> hosts;  // by world rank
    std::vector<int> team;   // world ranks
    std::vector<Rank> firsts;
    int each;
    bool two, apart, aligned;
  };
  const Case cases[] = {
      {{0, 0, 0, 0}, {0, 1, 2, 3}, {0}, 4, false, true, true},
      {{0, 0, 1, 1}, {0, 1, 2, 3}, {0, 2}, 2, true, true, true},
      {{0, 0, 0, 1, 1, 1}, {0, 1, 2, 3, 4, 5}, {0, 3}, 3, true, true, false},
      {{0, 1, 0, 1}, {0, 1, 2, 3}, {0, 1}, 2, true, false, false},
      {{0, 1, 0, 1}, {0, 2, 3, 1}, {0, 2}, 2, true, true, true},
      {{0, 0, 0, 1}, {3, 2, 1, 0}, {0, 1}, 0, true, true, false},
      {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, 1, false, true, true},
      {{0, 0, 1, 1, 2, 2}, {1, 0, 4, 5}, {0, 2}, 2, true, true, true},
  };
  methods::InprocRules plain;
  for (const Case& c : cases) {
    Fibers fibers(Hosts(c.hosts), plain);
    Terms terms({}, {});
    Team team(fibers, 2, terms, c.team);
    for (int m = 0; m < team.members(); ++m) {
      const coll::Levels& l = coll::levels_of(team.comm(m));
      const auto host_of = [&](int member) {
        return c.hosts[static_cast<std::size_t>(c.team[static_cast<std::size_t>(member)])];
      };
      EXPECT_EQ(l.firsts, Ranks(c.firsts));
      EXPECT_EQ(l.each, c.each);
      EXPECT_EQ(l.two, c.two);
      EXPECT_EQ(l.apart, c.apart);
      EXPECT_EQ(l.aligned, c.aligned);
      EXPECT_EQ(l.mine[l.me], m);
      EXPECT_EQ(host_of(l.firsts[l.host]), host_of(m));
      for (int other = 0; other < team.members(); ++other)
        EXPECT_EQ(l.mine.place_of(other) >= 0, host_of(other) == host_of(m));
    }
  }
}

/// What each rank gets, of doubles whose sum depends on how they are grouped.
std::vector<std::vector<double>> sums_of(const Hosts& hosts, const coll::Choice& choice, bool all, int root, long n) {
  const int p = hosts.size();
  methods::InprocRules plain;
  Fibers fibers(hosts, plain);
  Terms terms(choice, {});
  Team team(fibers, 2, terms, everyone(p));
  std::vector<std::vector<double>> out(static_cast<std::size_t>(p), std::vector<double>(static_cast<std::size_t>(n)));
  // Of the type's and operation's own kind; which handles they have does not matter.
  const CollOp* sum = nullptr;
  for (const auto& r : reductions())
    if (r.op.builtin == ReduceOp::sum && r.type->type.basic == Basic::f64) sum = &r;
  EXPECT_NE(sum, nullptr);
  EXPECT_TRUE(fibers.run([&](int rank) {
    methods::Chance chance(static_cast<std::uint64_t>(rank) + 99);
    std::vector<double> in;
    for (long i = 0; i < n; ++i) in.push_back(1.0 / static_cast<double>(1 + chance.below(1000)));
    const coll::Reduction r{sum->op, const_cast<mpi::Datatype&>(sum->type->type), n, fibers.device(rank)};
    auto& mine = out[static_cast<std::size_t>(rank)];
    mpi::Comm& comm = team.comm(rank);
    EXPECT_EQ(
        all ? coll::allreduce(comm, in.data(), mine.data(), r) : coll::reduce(comm, in.data(), mine.data(), r, root),
        MPI_SUCCESS);
  }));
  return out;
}

TEST(Levels, AndLengthsDoNotChangeTheBitsOfASum) {
  struct Shape {
    int ranks, a_host;
  };
  for (const Shape s :
       {Shape{8, 2}, Shape{8, 4}, Shape{12, 4}, Shape{6, 2}, Shape{10, 2}, Shape{16, 8}, Shape{9, 3}, Shape{7, 2}}) {
    const Hosts one = Hosts::blocks(s.ranks, s.ranks), many = Hosts::blocks(s.ranks, s.a_host);
    for (const long n : {1L, 700L, 1500L}) {
      const auto all = [&](const Hosts& hosts, Algorithm a) {
        const auto c = coll::Choice().force(coll::Collective::allreduce, a);
        return sums_of(hosts, c, true, 0, n);
      };
      const auto expected = all(one, Algorithm::doubling);
      for (const auto& other : expected) EXPECT_EQ(other, expected[0]);
      EXPECT_EQ(all(many, Algorithm::hosts), expected) << s.ranks << " on hosts of " << s.a_host << ", " << n;
      EXPECT_EQ(all(one, Algorithm::tree), expected);
      EXPECT_EQ(all(one, Algorithm::halving), expected);
      for (const int root : {0, s.a_host, 1}) {
        const auto to_root = [&](const Hosts& hosts, Algorithm a) {
          const auto c = coll::Choice().force(coll::Collective::reduce, a);
          return sums_of(hosts, c, false, root, n)[static_cast<std::size_t>(root)];
        };
        EXPECT_EQ(to_root(many, Algorithm::hosts), to_root(one, Algorithm::binomial)) << s.ranks << ", root " << root;
      }
    }
  }
}

// Stages inside of a host go by shared memory (shared.hpp), in any order of collectives and roots; who talks to no
// other host sends no message once there is such memory.
TEST(Levels, MeetInSharedMemoryInsideOfHosts) {
  constexpr int kRanks = 11, kRounds = 40;
  const auto root_of = [](int round) { return round * 7 % kRanks; };
  const CollOp* sum = nullptr;
  for (const auto& r : reductions())
    if (r.op.builtin == ReduceOp::sum && r.type->type.basic == Basic::i32) sum = &r;
  ASSERT_NE(sum, nullptr);
  for (const bool crowded : {false, true}) {
    for (const Hosts& hosts : {Hosts::blocks(kRanks, 4), Hosts::blocks(kRanks, kRanks),
                               Hosts(std::vector<int>{0, 1, 0, 1, 2, 0, 1, 2, 2, 0, 1})}) {
      methods::InprocRules shares;
      shares.shared_memory = true;
      Fibers fibers(hosts, shares);
      Terms terms({}, {crowded});
      Team team(fibers, 2, terms, everyone(kRanks));
      EXPECT_TRUE(fibers.run([&](int rank) {
        mpi::Comm& c = team.comm(rank);
        const auto round = [&](int i) {
          const int root = root_of(i);
          const auto n = static_cast<std::size_t>(i % 3 == 0 ? 1 : 100 + i);  // in the line, and beside it
          std::vector<int> in(n), out(n, -1);
          for (std::size_t k = 0; k < n; ++k) in[k] = rank + static_cast<int>(k) + i;
          const auto expected = [&](std::size_t k) {
            return kRanks * (kRanks - 1) / 2 + kRanks * (static_cast<int>(k) + i);
          };
          const coll::Reduction r{sum->op, const_cast<mpi::Datatype&>(sum->type->type), static_cast<MPI_Count>(n),
                                  fibers.device(rank)};
          switch (i % 4) {
            case 0:
              EXPECT_EQ(coll::bcast(c, coll::raw(rank == root ? in.data() : out.data(), 4 * n), root), MPI_SUCCESS);
              for (std::size_t k = 0; k < n && rank != root; ++k) EXPECT_EQ(out[k], root + static_cast<int>(k) + i);
              break;
            case 1:
              EXPECT_EQ(coll::reduce(c, in.data(), out.data(), r, root), MPI_SUCCESS);
              for (std::size_t k = 0; k < n && rank == root; ++k) EXPECT_EQ(out[k], expected(k));
              break;
            case 2:
              EXPECT_EQ(coll::allreduce(c, in.data(), out.data(), r), MPI_SUCCESS);
              for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(out[k], expected(k));
              break;
            default:
              EXPECT_EQ(coll::barrier(c), MPI_SUCCESS);
          }
        };
        const coll::Levels& l = coll::levels_of(c);
        for (int i = 0; i < kRounds; ++i) {
          const auto messages = [&] {  // and not what answers some
            return std::ranges::count_if(fibers.sent(rank), [](const std::string& name) {
              return name.starts_with("SHORT") || name.starts_with("REQUEST_SEND");
            });
          };
          const auto before = messages();
          round(i);
          if (l.two && i >= 8 && l.me > 0 && rank != root_of(i)) {
            EXPECT_EQ(messages(), before) << i << ": " << fibers.sent(rank).back();
          }
        }
        fibers.barrier(rank);
      }));
    }
  }
}

TEST(Levels, SendOneMessageToEachHostAndBack) {
  const Hosts hosts = Hosts::blocks(12, 4);
  const auto between = [&](auto&& call) {
    methods::InprocRules plain;
    Fibers fibers(hosts, plain);
    Terms terms({}, {});
    Team team(fibers, 2, terms, everyone(12));
    EXPECT_TRUE(fibers.run([&](int rank) { EXPECT_EQ(call(team.comm(rank)), MPI_SUCCESS); }));
    std::set<int> talking;  // ranks that have sent to another host, or have been sent to
    for (int r = 0; r < 12; ++r)
      for (const Rank other : fibers.peers(r))
        if (!hosts.same(r, other)) talking.insert({r, other});
    return talking;
  };
  const std::set<int> firsts{0, 4, 8};
  EXPECT_EQ(between([](mpi::Comm& c) { return coll::barrier(c); }), firsts);
  std::vector<char> data(12 * 100);
  EXPECT_EQ(between([&](mpi::Comm& c) { return coll::bcast(c, coll::raw(data.data(), 100), 0); }), firsts);
  const std::set<int> with_root{0, 6, 8};  // the root stands for its host
  EXPECT_EQ(between([&](mpi::Comm& c) { return coll::bcast(c, coll::raw(data.data(), 100), 6); }), with_root);
  EXPECT_EQ(between([&](mpi::Comm& c) {
              return coll::allgather(c, coll::raw(data.data(), 100),
                                     coll::Blocks::uniform(data.data(), 100, coll::byte_type()));
            }),
            firsts);
  std::vector<char> other(12 * 100);
  EXPECT_EQ(between([&](mpi::Comm& c) {
              return coll::alltoall(c, coll::Blocks::uniform(data.data(), 100, coll::byte_type()),
                                    coll::Blocks::uniform(other.data(), 100, coll::byte_type()));
            }),
            firsts);
}

}  // namespace
}  // namespace rmq::testing
