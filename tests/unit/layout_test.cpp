// SPDX-License-Identifier: BSD-3-Clause
// The datatype engine against the naive one of layout_test_model.hpp: everything a Layout can do is compared with a
// loop over the plain type map of the same type.
#include "base/data/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <thread>

#include "base/data/data_view.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/layout_test_model.hpp"

namespace rmq {
namespace {

using test::Bytes;
using test::Entry;
using test::Generator;
using test::Memory;
using test::Naive;
using test::Pair;

void expect_bounds(const Layout& layout, const Naive& naive) {
  EXPECT_EQ(layout.size(), naive.size());
  EXPECT_EQ(layout.lb(), naive.lower.value);
  EXPECT_EQ(layout.extent(), naive.extent());
  const auto offsets = naive.offsets(1);
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  EXPECT_EQ(layout.true_lb(), offsets.empty() ? 0 : *low);
  EXPECT_EQ(layout.true_extent(), offsets.empty() ? 0 : *high + 1 - *low);
}

void expect_signature(const Layout& layout, const Naive& naive) {
  std::vector<std::pair<Basic, std::uint64_t>> runs;
  for (const Entry& entry : naive.map) {
    if (entry.type == Basic::none) continue;  // second member of a pair
    if (runs.empty() || runs.back().first != entry.type) runs.emplace_back(entry.type, 0);
    ++runs.back().second;
  }
  EXPECT_EQ(layout.signature(), runs);
  EXPECT_EQ(layout.element(), runs.size() == 1 ? runs[0].first : Basic::none);
  EXPECT_EQ(layout.basic_elements(), naive.map.size());
  std::uint64_t bytes = 0;
  bool right = true;
  for (std::size_t i = 0; i < 2 * naive.map.size(); ++i) {
    const std::uint64_t size = naive.map[i % naive.map.size()].size;
    right = right && layout.basic_elements_in(bytes) == i && (size == 1 || !layout.basic_elements_in(bytes + size - 1));
    bytes += size;
  }
  EXPECT_TRUE(right) << "basic_elements_in";
}

void expect_moves(const Layout& layout, const Naive& naive, Generator& random) {
  const auto count = static_cast<std::uint64_t>(random.chance(20) ? random.pick(4, 40) : random.pick(0, 3));
  const auto offsets = naive.offsets(count);
  Memory memory(offsets, random);
  const DataView view = layout.view(memory.origin, count);
  ASSERT_EQ(view.bytes, offsets.size());
  const bool overlaps = test::any_twice(offsets);
  for (int round = 0; round < 4; ++round) {
    const auto size = static_cast<std::int64_t>(offsets.size());
    const std::int64_t from = round == 0 ? 0 : random.pick(0, size);
    const std::int64_t to = round == 0 ? size : random.pick(from, size);
    const auto first = static_cast<std::uint64_t>(from);
    const auto bytes = static_cast<std::uint64_t>(to - from);
    Bytes packed(bytes);
    pack(packed.data(), view, first, bytes);
    Bytes wanted(bytes);
    for (std::size_t i = 0; i < bytes; ++i) wanted[i] = memory.at(offsets[first + i]);
    ASSERT_EQ(packed, wanted);

    std::vector<iovec> pieces(static_cast<std::size_t>(random.chance(50) ? random.pick(0, 5) : size));
    std::uint64_t covered = 0;
    const std::size_t used = iovecs(view, first, bytes, pieces, covered);
    std::uint64_t described = 0;
    for (std::size_t i = 0; i < used; ++i) {
      auto* const start = static_cast<std::byte*>(pieces[i].iov_base);
      ASSERT_TRUE(i == 0 || start != static_cast<std::byte*>(pieces[i - 1].iov_base) + pieces[i - 1].iov_len);
      bool right = true;
      for (std::size_t b = 0; b < pieces[i].iov_len; ++b) {
        right = right && start + b == &memory.at(offsets[first + described++]);
      }
      ASSERT_TRUE(right) << "iovec " << i;
    }
    ASSERT_EQ(described, covered);
    ASSERT_TRUE(covered == bytes || used == pieces.size());

    if (overlaps) continue;  // an error on the receiving side
    for (std::byte& byte : packed) byte = static_cast<std::byte>(random.pick(0, 255));
    Memory expected = memory;
    expected.origin = moved(expected.bytes.data(), memory.origin - memory.bytes.data());
    for (std::size_t i = 0; i < bytes; ++i) expected.at(offsets[first + i]) = packed[i];
    unpack(view, first, packed.data(), bytes);
    ASSERT_EQ(memory.bytes, expected.bytes) << "unpack";
  }
}

TEST(LayoutTest, random_types_behave_like_their_type_maps) {
  Generator random(20260801);
  for (int i = 0; i < repeated(6000); ++i) {
    SCOPED_TRACE("type " + std::to_string(i));
    const Pair made = random.type(1 + i % 5);
    ASSERT_TRUE(made.layout);
    expect_bounds(*made.layout, made.naive);
    expect_signature(*made.layout, made.naive);
    expect_moves(*made.layout, made.naive, random);
    const Bytes image = made.layout->serialise();
    const auto copy = Layout::deserialise(image);
    ASSERT_TRUE(copy) << copy.error().what;
    ASSERT_EQ((*copy)->serialise(), image);
    expect_bounds(**copy, made.naive);
    expect_signature(**copy, made.naive);
    expect_moves(**copy, made.naive, random);
    if (HasFailure()) return;
  }
}

TEST(LayoutTest, index_lists_with_any_share_of_touching_blocks) {
  Generator random(83);
  for (const int touching : {0, 10, 30, 60, 90, 100}) {
    for (const int blocks : {1, 2, 7, 8, 9, 40, 300}) {
      for (const int longest : {1, 2, 5, 20}) {
        SCOPED_TRACE(std::to_string(touching) + " % of " + std::to_string(blocks) + " blocks up to " +
                     std::to_string(longest));
        const Pair made = random.index_list(random.type(0), blocks, touching, longest);
        ASSERT_TRUE(made.layout);
        expect_bounds(*made.layout, made.naive);
        expect_moves(*made.layout, made.naive, random);
        const auto copy = Layout::deserialise(made.layout->serialise());
        ASSERT_TRUE(copy) << copy.error().what;
        expect_moves(**copy, made.naive, random);
      }
    }
  }
}

TEST(LayoutTest, copies_between_random_views) {
  Generator random(7);
  for (int i = 0; i < repeated(3000); ++i) {
    const Pair source = random.type(1 + i % 4);
    const Pair target = random.type(1 + i % 3);
    const auto from = source.naive.offsets(static_cast<std::uint64_t>(random.pick(1, 40)));
    const auto to = target.naive.offsets(static_cast<std::uint64_t>(random.pick(1, 40)));
    if (from.empty() || to.empty() || from.size() + to.size() > 200000 || test::any_twice(to)) continue;
    Memory source_memory(from, random);
    Memory target_memory(to, random);
    const auto bytes =
        static_cast<std::uint64_t>(random.pick(0, std::min<std::int64_t>(std::ssize(from), std::ssize(to))));
    const auto from_offset = static_cast<std::uint64_t>(random.pick(0, std::ssize(from))) % (from.size() - bytes + 1);
    const auto to_offset = static_cast<std::uint64_t>(random.pick(0, std::ssize(to))) % (to.size() - bytes + 1);
    Memory expected = target_memory;
    expected.origin = moved(expected.bytes.data(), target_memory.origin - target_memory.bytes.data());
    for (std::size_t b = 0; b < bytes; ++b) expected.at(to[to_offset + b]) = source_memory.at(from[from_offset + b]);
    copy(target.layout->view(target_memory.origin, to.size() / target.naive.size()), to_offset,
         source.layout->view(source_memory.origin, from.size() / source.naive.size()), from_offset, bytes);
    ASSERT_EQ(target_memory.bytes, expected.bytes) << "pair " << i;
  }
}

TEST(LayoutTest, different_ways_to_say_a_shape_become_one) {
  const LayoutRef real = Layout::basic(Basic::f64, 8);
  EXPECT_TRUE(Layout::hvector(5, 3, 24, *real)->is_dense());
  EXPECT_TRUE(Layout::contiguous(4, *Layout::hvector(5, 3, 24, *real))->is_dense());
  const std::vector<std::uint64_t> ones(6, 1);
  EXPECT_TRUE(Layout::hindexed(ones, std::vector<std::int64_t>{0, 8, 16, 24, 32, 40}, *real)->is_dense());
  const LayoutRef column = Layout::hvector(6, 1, 32, *real);
  EXPECT_EQ(Layout::hindexed(ones, std::vector<std::int64_t>{0, 32, 64, 96, 128, 160}, *real)->serialise(),
            column->serialise());
  // A loop that the loop inside it continues.
  const LayoutRef half = Layout::resized(*Layout::hvector(3, 1, 32, *real), 0, 96);
  EXPECT_EQ(Layout::resized(*Layout::contiguous(2, *half), 0, 168)->serialise(),
            Layout::resized(*column, 0, 168)->serialise());
  // Structures that are really one array, seen through a shifted base.
  const std::vector<const Layout*> members(2, real.get());
  const LayoutRef shifted =
      Layout::structure(std::vector<std::uint64_t>{2, 1}, std::vector<std::int64_t>{-8, 8}, members);
  EXPECT_TRUE(shifted->is_dense());
  double data[9] = {};
  const DataView view = shifted->view(&data[1], 3);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(static_cast<void*>(view.base), &data[0]);
  EXPECT_EQ(view.bytes, 72u);
}

TEST(LayoutTest, one_block_with_another_extent_is_contiguous_only_alone) {
  const LayoutRef padded = Layout::resized(*Layout::basic(Basic::i32, 4), -4, 12);
  std::int32_t data[6] = {};
  EXPECT_TRUE(padded->is_one_block());
  EXPECT_FALSE(padded->is_dense());
  EXPECT_TRUE(padded->view(data, 1).is_contiguous());
  EXPECT_FALSE(padded->view(data, 2).is_contiguous());
  EXPECT_TRUE(padded->view(data, 0).is_contiguous());
}

TEST(LayoutTest, explicit_bounds_are_sticky_and_stop_padding) {
  const LayoutRef number = Layout::basic(Basic::i32, 4);
  const LayoutRef letter = Layout::basic(Basic::character, 1);
  const auto both = [](const LayoutRef& a, const LayoutRef& b, std::int64_t at) {
    return Layout::structure(std::vector<std::uint64_t>{1, 1}, std::vector<std::int64_t>{0, at},
                             std::vector<const Layout*>{a.get(), b.get()});
  };
  EXPECT_EQ(both(number, letter, 4)->extent(), 8);
  const LayoutRef narrow = Layout::resized(*number, -1, 6);
  EXPECT_EQ(both(narrow, letter, 20)->lb(), -1);
  EXPECT_EQ(both(narrow, letter, 20)->extent(), 6);
  EXPECT_EQ(both(number, Layout::upper_marker(), 11)->extent(), 11);
  EXPECT_EQ(both(number, Layout::lower_marker(), -3)->lb(), -3);
  EXPECT_EQ(both(number, Layout::contiguous(0, *number), 100)->extent(), 4) << "an empty type has no bounds";
}

TEST(LayoutTest, counts_beyond_two_gigabytes) {
  const LayoutRef wide = Layout::hvector(std::uint64_t{1} << 33, 1, 16, *Layout::basic(Basic::f64, 8));
  EXPECT_EQ(wide->size(), std::uint64_t{1} << 36);
  EXPECT_EQ(wide->true_extent(), (std::int64_t{1} << 37) - 8);
  EXPECT_EQ(wide->basic_elements_in(std::uint64_t{1} << 35), std::uint64_t{1} << 32);
  EXPECT_EQ(wide->basic_elements_in((std::uint64_t{1} << 35) + 7), std::nullopt);
  iovec piece{};
  std::uint64_t covered = 0;
  auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{4096});
  ASSERT_EQ(iovecs(wide->view(base, 1), (std::uint64_t{1} << 35) + 3, 100, {&piece, 1}, covered), 1u);
  EXPECT_EQ(piece.iov_base, base + (std::int64_t{1} << 36) + 3);
  EXPECT_EQ(covered, 5u);
  const char letter = 'x';  // sent over and over: overlapping blocks are fine on the send side
  const LayoutRef same = Layout::hvector(std::uint64_t{1} << 40, 1, 0, *Layout::basic(Basic::i8, 1));
  std::byte out[3] = {};
  pack(out, same->view(const_cast<char*>(&letter), 1), (std::uint64_t{1} << 39) + 1, 3);
  EXPECT_EQ(out[2], std::byte{'x'});
}

TEST(LayoutTest, what_does_not_fit_64_bits_is_refused) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() - 4;
  const LayoutRef real = Layout::basic(Basic::f64, 8);
  EXPECT_FALSE(Layout::contiguous(kHuge, *real));
  EXPECT_FALSE(Layout::contiguous(std::numeric_limits<std::uint64_t>::max(), *real));
  EXPECT_FALSE(Layout::hvector(kHuge, 2, 1, *Layout::basic(Basic::i8, 1)));
  EXPECT_FALSE(Layout::hvector(3, 1, kFar, *real));
  EXPECT_FALSE(Layout::hindexed(std::vector<std::uint64_t>{1}, std::vector<std::int64_t>{kFar}, *real));
  EXPECT_FALSE(Layout::resized(*real, kFar, kFar));
  LayoutRef nest = real;
  for (int i = 0; nest && i < 300; ++i) nest = Layout::hvector(2, 1, i % 2 == 0 ? 1000 - 3 * i : 3 * i, *nest);
  EXPECT_FALSE(nest);
}

TEST(LayoutTest, a_malformed_image_is_an_error_and_nothing_worse) {
  Generator random(99);
  int accepted = 0;
  const auto probe = [&](const Bytes& image) {
    const auto parsed = Layout::deserialise(image);
    if (!parsed) {
      EXPECT_EQ(parsed.error().code, Errc::protocol);
      return;
    }
    ++accepted;
    const Layout& layout = **parsed;
    EXPECT_TRUE(layout.element() == Basic::none || layout.element_size() != 0);
    if (layout.basic_elements() < 10000) {
      EXPECT_LE(layout.signature().size(), layout.basic_elements());
    }
    EXPECT_LE(layout.basic_elements_in(layout.size() / 2).value_or(0), layout.basic_elements());
    std::vector<iovec> pieces(20);
    std::uint64_t covered = 0;
    const std::uint64_t start = layout.size() / 3;
    iovecs(layout.view(nullptr, 1), start, std::min<std::uint64_t>(layout.size() - start, 2000), pieces, covered);
    EXPECT_TRUE(Layout::deserialise(layout.serialise()));
  };
  for (int i = 0; i < 400; ++i) {
    const Bytes image = random.type(1 + i % 5).layout->serialise();
    for (std::size_t length = 0; length < image.size(); ++length) {
      EXPECT_FALSE(Layout::deserialise({image.data(), length})) << "truncated to " << length;
    }
    for (int round = 0; round < 100; ++round) {
      Bytes mutated = image;
      for (auto left = random.pick(1, 4); left > 0; --left) {
        const auto at = static_cast<std::size_t>(random.pick(0, std::ssize(mutated) - 1));
        static constexpr int kValues[] = {0, 1, 2, 0x7f, 0x80, 0xff};
        mutated[at] = static_cast<std::byte>(random.chance(50) ? kValues[random.pick(0, 5)] : random.pick(0, 255));
      }
      if (random.chance(10)) mutated.resize(static_cast<std::size_t>(random.pick(0, 2 * std::ssize(image))));
      probe(mutated);
    }
  }
  EXPECT_GT(accepted, 100) << "mutations should also reach what lies behind the parser";
}

TEST(LayoutTest, references_are_counted_across_threads) {
  const LayoutRef shared = Layout::hvector(4, 1, 16, *Layout::basic(Basic::f64, 8));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = shared] {
      for (int i = 0; i < 10000; ++i) {
        const LayoutRef mine = copy;
        ASSERT_EQ(mine->size(), 32u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rmq
