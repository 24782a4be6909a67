// SPDX-License-Identifier: BSD-3-Clause
// property [--seed N] [--first N] [--count N] [--deaths]
//
// Runs random programs and judges them. A failure prints its seed; `--seed N` (or RMQ_SEED=N) runs just that program
// again, step by step the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "property/program.hpp"

namespace {

using rmq::testing::Program;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  bool deaths = false;
};

bool run_one(std::uint64_t seed, bool deaths) {
  Program program(seed, deaths);
  const auto faults = program.run();
  if (faults.empty() && !::testing::Test::HasFailure()) return true;
  fmt::print("FAILED {}\n  replay with: property {}--seed {}\n", program.describe(), deaths ? "--deaths " : "", seed);
  for (const std::string& f : faults) fmt::print("  {}\n", f);
  return false;
}

// Chance must come from the seed alone.
bool replays(std::uint64_t seed) {
  std::uint64_t digest[2];
  for (std::uint64_t& d : digest) {
    Program program(seed);
    program.run();
    d = program.digest();
  }
  if (digest[0] != digest[1]) fmt::print("FAILED seed {}: two runs differ\n", seed);
  return digest[0] == digest[1];
}

bool parse(int argc, char** argv, Options& o) {
  if (const char* seed = std::getenv("RMQ_SEED")) o = {std::strtoull(seed, nullptr, 10), 1, false};
  for (int i = 1; i < argc; ++i) {
    const bool value = i + 1 < argc;
    if (std::strcmp(argv[i], "--deaths") == 0) {
      o.deaths = true;
    } else if (std::strcmp(argv[i], "--seed") == 0 && value) {
      o.first = std::strtoull(argv[++i], nullptr, 10);
      o.count = 1;
    } else if (std::strcmp(argv[i], "--first") == 0 && value) {
      o.first = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--count") == 0 && value) {
      o.count = std::strtoull(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "property [--seed N] [--first N] [--count N] [--deaths]\n");
      return false;
    }
  }
  return true;
}

Options options;

TEST(Property, RandomProgramsObeyTheRulesOfMatching) {
  int failed = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.count && failed < 5; ++seed) {
    failed += !run_one(seed, options.deaths);
  }
  EXPECT_EQ(failed, 0);
}

TEST(Property, ASeedReplaysExactly) {
  const std::uint64_t count = options.count < 20 ? options.count : 20;
  for (std::uint64_t seed = options.first; seed < options.first + count; ++seed) EXPECT_TRUE(replays(seed));
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!parse(argc, argv, options)) return 2;
  return RUN_ALL_TESTS();
}
