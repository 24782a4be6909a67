// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rmq {
namespace {

constexpr std::size_t kPage = 4096;

/// Copies n bytes with `copy` to an address that lies `distance` past the source modulo a page, and checks every byte
/// there and around it.
template <class Copy>
void check(Copy copy, std::size_t n, std::size_t source_shift, std::size_t distance) {
  std::vector<std::byte> from(n + 2 * kPage);
  std::vector<std::byte> to(n + 4 * kPage, std::byte{0xee});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  const std::byte* const source = from.data() + source_shift;
  const auto gap =
      (reinterpret_cast<std::uintptr_t>(source) + distance - reinterpret_cast<std::uintptr_t>(to.data())) % kPage;
  const std::size_t first = kPage + gap;
  copy(to.data() + first, source, n);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool inside = i >= first && i < first + n;
    ASSERT_EQ(to[i], inside ? source[i - first] : std::byte{0xee})
        << "byte " << i << " of " << n << ", distance " << distance;
  }
}

TEST(CopyTest, copies_every_size_at_every_awkward_distance) {
  for (const std::size_t n : {0, 1, 7, 31, 255, 2047, 2048, 2049, 2050, 4095, 4096, 5000, 65536, 70001}) {
    for (const std::size_t distance : {0, 1, 2, 8, 31, 32, 33, 63, 64, 65, 2048, 4088, 4095}) {
      check(copy_bytes, n, 0, distance);
      check(copy_bytes, n, 13, distance);
    }
  }
}

TEST(CopyTest, the_vector_loop_copies_exactly_its_range) {
  if (!detail::have_copy_avx2()) GTEST_SKIP() << "no AVX2, or a sanitizer build";
  for (std::size_t n = 256; n < 256 + 300; ++n) {
    for (const std::size_t distance : {0, 1, 8, 31, 32, 45}) check(detail::copy_avx2, n, n % 37, distance);
  }
  for (const std::size_t n : {4096, 8191, 65536, 70001}) check(detail::copy_avx2, n, 5, 1);
}

TEST(CopyTest, nothing_may_be_copied_from_and_to_nowhere) {
  copy_bytes(nullptr, nullptr, 0);
}

TEST(CopyTest, an_absolute_displacement_from_null_is_an_address) {
  std::byte data[16] = {};
  const auto address = reinterpret_cast<std::int64_t>(&data[5]);
  EXPECT_EQ(moved(nullptr, address), &data[5]);
  EXPECT_EQ(moved(&data[5], -3), &data[2]);
}

}  // namespace
}  // namespace rmq
