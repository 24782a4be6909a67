// SPDX-License-Identifier: BSD-3-Clause
// coll_sweep [--p N] [--most N] [--seed N] [--first N] [--count N]
//
// Runs collectives on in-process devices, each rank a fiber, and judges every byte: all algorithms, forced and chosen,
// any number of ranks, sizes around every threshold, communicators in any order of ranks and of some of them, inter-
// and intra-, blocking, in the background, several at once, persistent. A seed draws a network and some collectives on
// it; the number of ranks is drawn up to --most (40), or is --p. A failure prints what repeats exactly that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "coll/exercise.hpp"
#include "engine/message/transfer.hpp"

namespace rmq::testing {

const char* name_of(What what) {
  constexpr const char* kNames[kWhats] = {
      "barrier",   "bcast",     "gather",     "gatherv",        "scatter",
      "scatterv",  "allgather", "allgatherv", "alltoall",       "alltoallv",
      "alltoallw", "reduce",    "allreduce",  "reduce_scatter", "reduce_scatter_block",
      "scan",      "exscan"};
  return kNames[static_cast<int>(what)];
}

std::uint64_t draw_bytes(methods::Chance& chance, std::uint64_t most) {
  constexpr std::uint64_t kEdges[] = {0,        8,        64,        256,       512,      1 << 10,
                                      2 << 10,  4 << 10,  8 << 10,   12 << 10,  16 << 10, 32 << 10,
                                      64 << 10, 80 << 10, 128 << 10, 512 << 10, 1 << 20};
  const auto reachable = static_cast<std::uint64_t>(
      std::count_if(std::begin(kEdges), std::end(kEdges), [&](std::uint64_t edge) { return edge <= most; }));
  const std::uint64_t edge = kEdges[chance.below(reachable)];
  const auto beside = static_cast<std::int64_t>(chance.pick<int>({0, 0, 0, 8, -8, 1, -1, 24}));
  const auto bytes = static_cast<std::int64_t>(edge) + beside;
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

namespace {

using methods::Chance;
using mpi::coll::Algorithm;
using mpi::coll::Choice;
using mpi::coll::Collective;

int ranks = 0, most = 40;
std::uint64_t first = 1, count = 200;

Choice draw_choice(Chance& chance) {
  Choice c;
  for (const Collective what : mpi::coll::kEachCollective) {
    if (chance.in(300)) continue;
    std::vector<Algorithm> all;
    for (const Algorithm a : mpi::coll::kEachAlgorithm)
      if (mpi::coll::algorithms_of(what) & mpi::coll::set_of(a)) all.push_back(a);
    c.force(what, all[chance.below(all.size())]);
  }
  return c;
}

enum class Form { blocking, background, among, persistent };

/// Collectives on one communicator, begun one after the other.
class Step {
 public:
  Step(Fibers& fibers, Chance& chance, std::uint32_t context, std::uint64_t budget)
      : terms_(draw_choice(chance), {chance.in(500), chance.in(500)}) {
    std::vector<int> world(static_cast<std::size_t>(fibers.size()));
    std::iota(world.begin(), world.end(), 0);
    if (chance.in(600)) {
      for (std::size_t i = world.size(); i > 1; --i) std::swap(world[i - 1], world[chance.below(i)]);
      if (chance.in(400)) world.resize(1 + chance.below(world.size()));
    }
    const bool inter = world.size() > 1 && chance.in(200);
    const auto cut =
        world.begin() + static_cast<std::ptrdiff_t>(inter ? 1 + chance.below(world.size() - 1) : world.size());
    team_ =
        std::make_unique<Team>(fibers, context, terms_, std::vector(world.begin(), cut), std::vector(cut, world.end()));
    form_ = static_cast<Form>(chance.below(4));
    for (std::uint64_t n = 1 + chance.below(3); n-- > 0;) {
      What what = static_cast<What>(chance.below(kWhats));
      if (inter && (what == What::scan || what == What::exscan)) what = What::allreduce;
      exercises_.push_back(draw(what, *team_, chance, budget));
    }
  }

  void run(Fibers& fibers, int rank) {
    const int me = team_->member_of(rank);
    if (me < 0) return;
    mpi::Comm& comm = team_->comm(me);
    std::vector<std::unique_ptr<Background>> tasks;
    for (auto& e : exercises_) {
      const int tag = form_ == Form::persistent ? mpi::new_repeated_tag(comm) : -1;
      tasks.push_back(std::make_unique<Background>(comm, tag, [&e, me] { return e->call(me); }));
    }
    const auto wait = [&](std::size_t i) {
      while (!tasks[i]->over()) fibers.device(rank).MPID_Poll(true);
      judge(i, me, tasks[i]->code());
    };
    const std::size_t n = tasks.size();
    switch (form_) {
      case Form::blocking:
        for (std::size_t i = 0; i < n; ++i) judge(i, me, exercises_[i]->call(me));
        break;
      case Form::background:
        for (auto& t : tasks) t->start();
        for (std::size_t i = n; i-- > 0;) wait(i);
        break;
      case Form::among:  // a blocking one while another is under way
        tasks[0]->start();
        for (std::size_t i = 1; i < n; ++i) judge(i, me, exercises_[i]->call(me));
        wait(0);
        break;
      case Form::persistent:  // started in an order of this rank's own, ranks may be runs ahead
        for (int again = 0; again < 3; ++again) {
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t mine = (i + static_cast<std::size_t>(me)) % n;
            if (again == 0 || exercises_[mine]->repeatable()) tasks[mine]->start();
          }
          for (std::size_t i = 0; i < n; ++i) wait(i);
        }
    }
  }

  void verify() {
    for (std::size_t i = 0; i < exercises_.size(); ++i) {
      if (const std::string fault = exercises_[i]->verdict(); !fault.empty()) note(i, fault);
    }
  }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void judge(std::size_t i, int member, int code) {
    if (code != MPI_SUCCESS) note(i, fmt::format("member {}: error {}", member, code));
  }
  void note(std::size_t i, const std::string& fault) {
    constexpr const char* kForms[] = {"blocking", "in the background", "among others", "persistent"};
    faults_.push_back(fmt::format("{} {}, {} of {}{} members{}: {}", kForms[static_cast<int>(form_)],
                                  exercises_[i]->describe(), i + 1, exercises_.size(),
                                  team_->is_inter()
                                      ? fmt::format(", {} and {}", team_->left(), team_->members() - team_->left())
                                      : fmt::format(", {}", team_->members()),
                                  terms_.traits().crowded ? ", crowded" : "", fault));
  }

  mpi::coll::Terms terms_;
  std::unique_ptr<Team> team_;
  Form form_;
  std::vector<std::unique_ptr<Exercise>> exercises_;
  std::vector<std::string> faults_;
};

/// One host, hosts of neighbours (equal ones, and powers of two, among them), or any.
Hosts draw_hosts(Chance& chance, int p) {
  if (chance.in(300)) return Hosts::blocks(p, p);
  const int most_hosts = std::min(p, 9);
  if (chance.in(600))
    return Hosts::blocks(p, chance.in(500) ? 1 << chance.below(5) : 1 + static_cast<int>(chance.below(9)));
  std::vector<int> host_of_rank;
  for (int r = 0; r < p; ++r)  // each host has a rank
    host_of_rank.push_back(r < most_hosts ? r : static_cast<int>(chance.below(static_cast<std::uint64_t>(most_hosts))));
  const auto turn = static_cast<std::ptrdiff_t>(chance.below(static_cast<std::uint64_t>(p)));
  std::rotate(host_of_rank.begin(), host_of_rank.begin() + turn, host_of_rank.end());
  return Hosts(host_of_rank);
}

/// Whether all is well.
bool run_seed(std::uint64_t seed) {
  Chance chance(seed);
  const int p = ranks ? ranks : 1 + static_cast<int>(chance.below(static_cast<std::uint64_t>(most)));
  const bool rough = chance.in(500);  // many small packets: less data
  methods::InprocRules rules = methods::InprocRules::drawn(seed);
  if (!rough) rules.eager_max = 4096, rules.fragment_max = 64 * 1024, rules.link_frames = 256, rules.retry = 0;
  rules.shared_memory = seed % 2 == 1;
  const std::uint64_t budget = rough ? 256 * 1024 : 8 * 1024 * 1024;
  Fibers fibers(draw_hosts(chance, p), rules);
  std::vector<std::unique_ptr<Step>> steps;
  for (std::uint32_t i = 0; i < 4; ++i) steps.push_back(std::make_unique<Step>(fibers, chance, 2 + 4 * i, budget));
  bool good = fibers.run([&](int rank) {
    for (auto& s : steps) s->run(fibers, rank);
    fibers.barrier(rank);
  });
  const auto fail = [&](const std::string& what) {
    if (good) fmt::print("FAILED, replay with: coll_sweep --p {} --seed {}\n", p, seed);
    fmt::print("  {}\n", what);
    good = false;
  };
  if (!good) {
    fmt::print("STUCK, replay with: coll_sweep --p {} --seed {}\n", p, seed);
    return false;
  }
  for (auto& s : steps) {
    s->verify();
    for (std::size_t i = 0; i < std::min<std::size_t>(s->faults().size(), 4); ++i) fail(s->faults()[i]);
  }
  for (int r = 0; r < p; ++r) {
    if (fibers.device(r).posted() + fibers.device(r).unexpected() > 0)
      fail(fmt::format("rank {} has messages left", r));
  }
  return good;
}

TEST(CollSweep, EveryByteIsWhereItBelongs) {
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 5; ++seed) failed += !run_seed(seed);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace rmq::testing

int main(int argc, char** argv) {
  using namespace rmq::testing;
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--p") == 0) {
      ranks = static_cast<int>(value);
    } else if (std::strcmp(argv[i], "--most") == 0) {
      most = static_cast<int>(value);
    } else if (std::strcmp(argv[i], "--seed") == 0) {
      first = value;
      count = 1;
    } else if (std::strcmp(argv[i], "--first") == 0) {
      first = value;
    } else if (std::strcmp(argv[i], "--count") == 0) {
      count = value;
    }
  }
  return RUN_ALL_TESTS();
}
