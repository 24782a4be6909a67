// SPDX-License-Identifier: BSD-3-Clause
// What the structures ship with is the standard library's.
#include "base/os/atomic.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace rmq {
namespace {

static_assert(std::is_same_v<Atomic<std::uint32_t>, std::atomic<std::uint32_t>>);
static_assert(std::is_same_v<AtomicRef<std::uint64_t>, std::atomic_ref<std::uint64_t>>);

TEST(Atomic, IsTheStandardOne) {
  Atomic<int> value{1};
  EXPECT_EQ(value.exchange(2, std::memory_order_relaxed), 1);
}

}  // namespace
}  // namespace rmq
