// SPDX-License-Identifier: BSD-3-Clause
// Figures of a machine that is fast at one moment and slow at the next: what is compared, and what is not.
#include "tools/perf/turns.hpp"

#include <gtest/gtest.h>

namespace rmq::perf {
namespace {

constexpr double kFast = 0.05, kSlow = 0.2;  // us a cache line

TEST(TurnsTest, pairs_that_a_slow_phase_parts_are_left_out) {
  Turns turns(false);
  for (std::size_t round = 0; round < 9; ++round) {
    const bool slow = round % 3 != 0;  // two of three samples of ours, none of theirs
    turns.add("ours", round, {slow ? 4.0 : 1.0, kFast, slow ? kSlow : kFast});
    turns.add("theirs", round, {2.0, kFast, kFast});
  }
  const std::vector<double> wanted(3, 2.0);
  EXPECT_EQ(turns.advantages("ours", "theirs"), wanted);
  EXPECT_EQ(turns.values("ours"), (std::vector<double>(3, 1.0)));
  EXPECT_EQ(turns.values("theirs").size(), 9u);
}

TEST(TurnsTest, pairs_of_one_slow_phase_are_compared) {
  Turns turns(true);
  turns.add("ours", 0, {30, kSlow, kSlow * 1.1});
  turns.add("theirs", 0, {10, kSlow * 1.2, kSlow});
  EXPECT_EQ(turns.advantages("ours", "theirs"), std::vector<double>{3.0});
  EXPECT_EQ(turns.values("ours"), std::vector<double>{30});
}

TEST(TurnsTest, a_sample_of_one_side_alone_is_no_pair) {
  Turns turns(false);
  turns.add("ours", 0, {1, kFast, kFast});
  turns.add("theirs", 1, {1, kFast, kFast});
  EXPECT_TRUE(turns.advantages("ours", "theirs").empty());
  EXPECT_TRUE(turns.advantages("ours", "nobody").empty());
  EXPECT_TRUE(turns.values("nobody").empty());
  EXPECT_EQ(cell(turns, "nobody"), "-");
}

TEST(TurnsTest, the_best_way_of_a_round_counts) {
  Turns lower(false), higher(true);
  for (const double value : {3.0, 1.0, 2.0}) {
    lower.add("a", 0, {value, kFast, kFast});
    higher.add("a", 0, {value, kFast, kFast});
  }
  EXPECT_EQ(lower.values("a"), std::vector<double>{1.0});
  EXPECT_EQ(higher.values("a"), std::vector<double>{3.0});
}

// The machine is slow for a while again and again; a run takes one tick, a probe none.
struct Machine {
  int now = 0;
  double factor() const { return now % 10 < 4 ? 4 : 1; }
  double probe() const { return kFast * factor(); }
  Reading run(double cost) {
    const double value = cost * factor();
    ++now;
    return {{Row{"latency", 8, 2, "shm"}, value}};
  }
};

TEST(TurnsTest, slow_phases_do_not_change_a_ratio) {
  Machine machine;
  const std::vector<Contestant> both{{"ours", [&] { return machine.run(1); }},
                                     {"theirs", [&] { return machine.run(1.5); }}};
  const Table table = take_turns(both, 5, [&] { return machine.probe(); });
  ASSERT_EQ(table.size(), 1u);
  const Turns& turns = table.begin()->second;
  const auto ratios = turns.advantages("ours", "theirs");
  EXPECT_EQ(ratios, std::vector<double>(5, 1.5));
  EXPECT_LE(turns.rounds_of("ours"), 15u);
}

TEST(TurnsTest, who_has_nothing_to_say_ends_nothing) {
  Machine machine;
  const std::vector<Contestant> both{{"ours", [&] { return machine.run(1); }}, {"theirs", [] { return Reading{}; }}};
  const Table table = take_turns(both, 3, [&] { return machine.probe(); });
  EXPECT_EQ(table.begin()->second.values("ours").size(), 3u);
}

}  // namespace
}  // namespace rmq::perf
