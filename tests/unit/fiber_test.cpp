// SPDX-License-Identifier: BSD-3-Clause
// Fibers: many at once, and one whose stack is used up.
#include "base/os/fiber.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/sanitized.hpp"

namespace rmq::os {
namespace {

int mappings() {
  int lines = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

// A process has 65,530 mappings, unless its system says otherwise.
TEST(Fiber, ManyTakeFewMappings) {
  const int count = kSanitized ? 1000 : 40'000, before = mappings();
  int ran = 0;
  struct One {
    Fiber fiber;
    int* ran;
  };
  std::vector<std::unique_ptr<One>> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(std::make_unique<One>());
    all.back()->ran = &ran;
    all.back()->fiber.prepare(
        [](void* one) {
          auto& self = *static_cast<One*>(one);
          ++*self.ran;
          self.fiber.pause();
          ++*self.ran;
        },
        all.back().get());
    all.back()->fiber.resume();
  }
  EXPECT_EQ(ran, count);
  EXPECT_LT(mappings() - before, 30'000);  // those before Linux 6.13 that have a protected page, and the slabs
  for (auto& one : all) one->fiber.resume();
  EXPECT_EQ(ran, 2 * count);
  // Their memory is free again, and used again.
  all.clear();
  EXPECT_LT(mappings() - before, 100);
  Fiber again;
  again.prepare([](void* here) { ++*static_cast<int*>(here); }, &ran);
  again.resume();
  EXPECT_EQ(ran, 2 * count + 1);
}

int sink(int depth) {
  volatile char frame[1000] = {};
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : sink(depth - 1) + frame[0];
}

TEST(Fiber, ThatUsesUpItsStackFaults) {
  if (kSanitized) GTEST_SKIP() << "sanitizers tell in their own way";
  const auto use_up = [] {
    int depth = 1000;
    Fiber below, fiber;  // what lies below its stack is another's
    fiber.prepare([](void* frames) { std::_Exit(sink(*static_cast<int*>(frames))); }, &depth);
    fiber.resume();
  };
  EXPECT_EXIT(use_up(), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace rmq::os
