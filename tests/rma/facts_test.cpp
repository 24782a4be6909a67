// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/os/zeros.hpp"

namespace rmq::rma {
namespace {

Facts facts_of(const std::vector<Fact>& all) {
  Told told;
  told.masks.fill(~std::uint64_t{0});
  std::vector<std::uint64_t> words;
  for (const Fact& f : all) {
    const auto masks = Brought{f, {}}.masks();
    for (std::size_t i = 0; i < masks.size(); ++i) told.masks[i] &= masks[i];
    const auto own = f.words();
    words.insert(words.end(), own.begin(), own.end());
  }
  const bool alike = std::ranges::all_of(all, [&](const Fact& f) { return f == all[0]; });
  EXPECT_EQ(told.is_alike(), alike);
  if (!alike) told.of_all = words;  // else nobody gathers them
  return Facts(told);
}

TEST(Facts, AreThoseThatEachMemberHasBrought) {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  const Fact plain{0, 10, 4096, 8, 1 << 20}, none{0, 0, 0, 1, 1 << 20}, large{0, 63, kLargest, kLargest, kLargest};
  for (const std::vector<Fact>& all : std::vector<std::vector<Fact>>{{plain},
                                                                     {large, large, large},
                                                                     {none, none},
                                                                     {plain, none},
                                                                     {none, plain, plain, plain, none},
                                                                     {plain, large, plain, large},
                                                                     {plain, plain, large}}) {
    const Facts facts = facts_of(all);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(facts[static_cast<int>(i)], all[i]) << i;
    EXPECT_EQ(facts.first_fault(), -1);
    EXPECT_EQ(facts.same_size(), std::ranges::all_of(all, [&](const Fact& f) { return f.size == all[0].size; }));
    EXPECT_EQ(facts.same_unit(), std::ranges::all_of(all, [&](const Fact& f) { return f.unit == all[0].unit; }));
  }
}

TEST(Facts, NameTheFirstMemberWithoutMemory) {
  const Fact good{0, 0, 8, 1, 9}, bad{3, 0, 8, 1, 9};
  EXPECT_EQ(facts_of({good, good, bad, bad}).first_fault(), 2);
  EXPECT_EQ(facts_of({bad, bad}).first_fault(), 0);
  EXPECT_EQ(facts_of({good, good}).first_fault(), -1);
}

TEST(Zeros, AreZeroAndStayWhatTheyAreMadeTo) {
  for (const int size : {0, 1, 7, 4095, 4096, 1'000'000}) {
    os::Zeros<std::uint64_t> z(size);
    for (int i = 0; i < size; i += 997) EXPECT_EQ(z[i], 0u);
    for (int i = 0; i < size; i += 997) z[i] = static_cast<std::uint64_t>(i) + 1;
    os::Zeros<std::uint64_t> moved(std::move(z));
    for (int i = 0; i < size; ++i) ASSERT_EQ(moved[i], i % 997 == 0 ? static_cast<std::uint64_t>(i) + 1 : 0);
  }
}

}  // namespace
}  // namespace rmq::rma
