// SPDX-License-Identifier: BSD-3-Clause
// rma_random [--seed N] [--first N] [--count N]
//
// Runs random programs of remote memory access and judges them. A failure prints its seed; `--seed N` runs just that
// program again, step by step the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "rma/fiber_face.hpp"

namespace {

std::uint64_t first = 1, count = 1000;

TEST(RmaRandom, ProgramsAgreeWithTheOracle) {
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const rmq::testing::RmaPlan plan(seed, 5);
    const auto faults = rmq::testing::run_on_fibers(plan);
    if (faults.empty()) continue;
    ++failed;
    fmt::print("FAILED {}\n  replay with: rma_random --seed {}\n", plan.describe(), seed);
    for (const std::string& f : faults) fmt::print("  {}\n", f);
  }
  EXPECT_EQ(failed, 0);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) {
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
