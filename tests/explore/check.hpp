// SPDX-License-Identifier: BSD-3-Clause
// How the tests of models judge: the code as it is holds in every schedule, and no broken copy of it does.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/explore/explorer.hpp"

namespace rmq::explore {

/// The model holds in every schedule within the bounds. RMQ_SCHEDULE=N runs schedule N alone and prints it.
inline void holds(const Model& model, const Bounds& bounds) {
  if (const char* number = std::getenv("RMQ_SCHEDULE")) {
    const Report r = replay(model, bounds, std::strtoull(number, nullptr, 10));
    EXPECT_FALSE(r.failed) << r.why;
    std::printf("%s", r.text.c_str());
    return;
  }
  const Report r = explore(model, bounds);
  EXPECT_FALSE(r.failed) << r.why << "\n" << r.text << "again: RMQ_SCHEDULE=" << r.number << " with this test alone";
  EXPECT_TRUE(r.complete || r.failed) << "more than " << bounds.most << " schedules";
  // A schedule that is given up shows nothing.
  EXPECT_LE(r.cut * 100, r.schedules);
  std::printf("             %llu schedules\n", static_cast<unsigned long long>(r.schedules));
}

/// Each of the mutants fails in some schedule.
inline void kills(const Model& model, const Bounds& bounds, std::span<const Mutant> mutants) {
  for (const Mutant& m : mutants) {
    const Report r = explore(model, bounds, &m);
    EXPECT_TRUE(r.mutated) << m.file << ": no line is '" << m.line << "'";
    EXPECT_TRUE(r.failed) << "survived: " << m.file << ": " << m.line;
    std::printf("             %-14.*s %-62.*s schedule %llu: %s\n", static_cast<int>(m.file.size()), m.file.data(),
                static_cast<int>(m.line.size()), m.line.data(), static_cast<unsigned long long>(r.number),
                r.why.c_str());
  }
}

}  // namespace rmq::explore
