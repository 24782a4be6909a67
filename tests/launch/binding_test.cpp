// SPDX-License-Identifier: BSD-3-Clause
// Which CPUs ranks are bound to, on machines that hwloc makes up (HWLOC_SYNTHETIC).
#include "tools/launch/binding.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rmq::launch {
namespace {

// Two sockets of two cores of two threads: CPUs 0-3 and 4-7.
std::string places(
    std::optional<Part> to, std::optional<Part> spread = {},
    const std::function<bool(int)>& allowed = [](int) { return true; }) {
  ::setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:2 pu:2", 1);
  const auto found = find_places({to, 1, spread, false}, allowed);
  if (!found) return "error: " + found.error().what;
  std::string out;
  for (const CpuSet& cpus : *found) out += (out.empty() ? "" : " ") + format_cpus(cpus);
  return out;
}

TEST(Binding, TakesThePartsOfTheMachineInOrder) {
  EXPECT_EQ(places({}), "");
  EXPECT_EQ(places(Part::hwthread), "0 1 2 3 4 5 6 7");
  EXPECT_EQ(places(Part::core), "0-1 2-3 4-5 6-7");
  EXPECT_EQ(places(Part::numa), "0-3 4-7");
  EXPECT_EQ(places(Part::package), "0-3 4-7");
}

TEST(Binding, SpreadsNeighbours) {
  EXPECT_EQ(places(Part::core, Part::package), "0-1 4-5 2-3 6-7");
  EXPECT_EQ(places(Part::hwthread, Part::core), "0 2 4 6 1 3 5 7");
  EXPECT_EQ(places(Part::package, Part::core), "0-3 4-7");  // nothing finer to spread over
}

TEST(Binding, TakesOnlyWhatIsAllowed) {
  const auto odd = [](int cpu) { return cpu % 2 == 1 && cpu < 6; };
  EXPECT_EQ(places(Part::core, {}, odd), "1 3 5");
  EXPECT_EQ(places(Part::package, {}, odd), "1,3 5");
  EXPECT_EQ(places(Part::core, Part::package, odd), "1 5 3");
  EXPECT_NE(places(Part::core, {}, [](int) { return false; }).find("no core here"), std::string::npos);
  EXPECT_NE(places(Part::cache).find("no l3cache here"), std::string::npos);
}

TEST(Binding, KnowsItsPartsByName) {
  for (const char* name : {"hwthread", "core", "l3cache", "numa", "socket"})
    EXPECT_EQ(name_of(part_of(name).value()), name);
  EXPECT_EQ(part_of("package"), Part::package);
  EXPECT_FALSE(part_of("board"));
  EXPECT_EQ(format_cpus({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace rmq::launch
