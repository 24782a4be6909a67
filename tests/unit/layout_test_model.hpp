// SPDX-License-Identifier: BSD-3-Clause
// A naive datatype engine, and random types built twice: as a Layout and as the plain type map of the standard (a list
// of offsets, sizes and types).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "base/data/copy.hpp"
#include "base/data/layout.hpp"

namespace rmq::test {

using Bytes = std::vector<std::byte>;

struct Entry {
  std::int64_t at;
  std::uint64_t size;
  Basic type;
};

struct Bound {
  std::int64_t value = 0;
  bool marked = false;
};

/// A type map as in section 5.1 of the standard, with the bounds that each copy brings along.
struct Naive {
  std::vector<Entry> map;
  Bound lower, upper;
  bool bounded = false;  // has a lower and an upper bound
  std::uint32_t alignment = 1;

  std::int64_t extent() const { return upper.value - lower.value; }
  std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const Entry& entry : map) sum += entry.size;
    return sum;
  }
  /// Appends a copy of `of` at displacement `at`.
  void append(const Naive& of, std::int64_t at) {
    for (Entry entry : of.map) {
      entry.at += at;
      map.push_back(entry);
    }
    if (!of.bounded) return;
    const auto stronger = [this](Bound a, Bound b, auto pick) {
      if (!bounded || a.marked != b.marked) return !bounded || a.marked ? a : b;
      return Bound{pick(a.value, b.value), a.marked};
    };
    lower = stronger({of.lower.value + at, of.lower.marked}, lower, [](auto a, auto b) { return std::min(a, b); });
    upper = stronger({of.upper.value + at, of.upper.marked}, upper, [](auto a, auto b) { return std::max(a, b); });
    bounded = true;
    if (!of.map.empty()) alignment = std::max(alignment, of.alignment);
  }
  /// Offset of every byte of `count` elements, in packed order.
  std::vector<std::int64_t> offsets(std::uint64_t count) const {
    std::vector<std::int64_t> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      for (const Entry& entry : map) {
        for (std::uint64_t b = 0; b < entry.size; ++b) {
          all.push_back(static_cast<std::int64_t>(i) * extent() + entry.at + static_cast<std::int64_t>(b));
        }
      }
    }
    return all;
  }
};

/// Whether some byte occurs more than once.
inline bool any_twice(std::vector<std::int64_t> offsets) {
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

struct Pair {
  LayoutRef layout;
  Naive naive;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  Pair basic() {
    struct Row {
      Basic type;
      std::uint64_t size;
      std::int64_t extent;
      std::uint32_t alignment;
    };
    static constexpr Row kRows[] = {{Basic::i8, 1, 1, 1},   {Basic::i16, 2, 2, 2},       {Basic::i32, 4, 4, 4},
                                    {Basic::f64, 8, 8, 8},  {Basic::f80, 16, 16, 16},    {Basic::c80, 32, 32, 16},
                                    {Basic::c32, 8, 8, 4},  {Basic::f64_i32, 12, 16, 8}, {Basic::i16_i32, 6, 8, 4},
                                    {Basic::byte, 1, 1, 1}, {Basic::f80_i32, 20, 32, 16}};
    const Row& row = kRows[pick(0, std::size(kRows) - 1)];
    Pair made{Layout::basic(row.type, row.size, row.extent), {}};
    if (row.type == Basic::i16_i32) {
      made.naive.map = {{0, 2, row.type}, {4, 4, Basic::none}};
    } else if (row.type == Basic::f64_i32 || row.type == Basic::f80_i32) {
      made.naive.map = {{0, row.size - 4, row.type}, {static_cast<std::int64_t>(row.size) - 4, 4, Basic::none}};
    } else {
      made.naive.map = {{0, row.size, row.type}};
    }
    made.naive.upper.value = row.extent;
    made.naive.bounded = true;
    made.naive.alignment = row.alignment;
    return made;
  }

  Pair type(int depth) {
    if (depth == 0) return basic();
    Pair made = constructor(depth);
    return made.naive.size() > 6000 ? basic() : std::move(made);
  }

  /// Blocks of up to `longest` elements of `inner`, of which `touching` per cent begin where the one before ends.
  Pair index_list(const Pair& inner, int blocks, int touching, int longest) {
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> displacements;
    Pair made;
    std::int64_t at = 0;
    for (int i = 0; i < blocks; ++i) {
      lengths.push_back(static_cast<std::uint64_t>(pick(1, longest)));
      displacements.push_back(at);
      for (std::uint64_t j = 0; j < lengths.back(); ++j, at += inner.naive.extent()) made.naive.append(inner.naive, at);
      if (!chance(touching)) at += pick(1, 40);
    }
    made.layout = Layout::hindexed(lengths, displacements, *inner.layout);
    return made;
  }

 private:
  Pair constructor(int depth) {
    const Pair inner = type(depth - 1);
    Pair made;
    switch (pick(0, 5)) {
      case 0: {
        const auto count = pick(0, 5);
        made.layout = Layout::contiguous(static_cast<std::uint64_t>(count), *inner.layout);
        for (int i = 0; i < count; ++i) made.naive.append(inner.naive, i * inner.naive.extent());
        return made;
      }
      case 1: {
        const auto count = pick(0, 6);
        const auto length = pick(0, 4);
        const std::int64_t natural = length * inner.naive.extent();
        const std::int64_t stride = chance(30) ? natural : chance(50) ? natural + 8 : pick(-120, 120);
        made.layout = Layout::hvector(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(length), stride,
                                      *inner.layout);
        for (int i = 0; i < count; ++i) {
          for (int j = 0; j < length; ++j) made.naive.append(inner.naive, i * stride + j * inner.naive.extent());
        }
        return made;
      }
      case 2:
      case 3:
        return indexed(inner);
      case 4:
        return structure(inner, depth);
      default: {
        const std::int64_t lb = chance(50) ? inner.naive.lower.value : pick(-40, 40);
        const std::int64_t extent = chance(50) ? pick(0, 20) * 8 : pick(-60, 100);
        made.layout = Layout::resized(*inner.layout, lb, extent);
        made.naive = inner.naive;
        made.naive.lower = {lb, true};
        made.naive.upper = {lb + extent, true};
        made.naive.bounded = true;
        return made;
      }
    }
  }

  Pair indexed(const Pair& inner) {
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> displacements;
    const bool regular = chance(40);
    const std::int64_t step = pick(-64, 64);
    Pair made;
    for (auto left = pick(0, 9); left > 0; --left) {
      lengths.push_back(static_cast<std::uint64_t>(regular ? 2 : pick(0, 3)));
      displacements.push_back(regular ? step * left : pick(-200, 200));
      if (!regular && chance(30) && displacements.size() > 1) {  // often adjacent to the block before
        const std::size_t last = displacements.size() - 1;
        displacements[last] =
            displacements[last - 1] + static_cast<std::int64_t>(lengths[last - 1]) * inner.naive.extent();
      }
      for (std::uint64_t j = 0; j < lengths.back(); ++j) {
        made.naive.append(inner.naive, displacements.back() + static_cast<std::int64_t>(j) * inner.naive.extent());
      }
    }
    made.layout = Layout::hindexed(lengths, displacements, *inner.layout);
    return made;
  }

  Pair structure(const Pair& inner, int depth) {
    std::vector<Pair> members;
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> displacements;
    std::vector<const Layout*> layouts;
    Pair made;
    for (auto left = pick(0, 4); left > 0; --left) members.push_back(chance(30) ? inner : type(depth - 1));
    std::int64_t next = 0;
    for (const Pair& member : members) {
      lengths.push_back(static_cast<std::uint64_t>(pick(0, 3)));
      displacements.push_back(chance(50) ? next : pick(-200, 200));
      layouts.push_back(member.layout.get());
      for (std::uint64_t j = 0; j < lengths.back(); ++j) {
        made.naive.append(member.naive, displacements.back() + static_cast<std::int64_t>(j) * member.naive.extent());
      }
      next = displacements.back() + static_cast<std::int64_t>(lengths.back()) * member.naive.extent();
    }
    Naive& naive = made.naive;
    const bool mixed =
        std::any_of(layouts.begin(), layouts.end(), [&](const Layout* member) { return member != layouts[0]; });
    if (mixed && naive.bounded && !naive.lower.marked && !naive.upper.marked) {
      while (naive.extent() > 0 && naive.extent() % naive.alignment != 0) ++naive.upper.value;
    }
    made.layout = Layout::structure(lengths, displacements, layouts);
    return made;
  }

  std::mt19937_64 random_;
};

/// Memory that holds `count` elements, filled with noise; origin is where displacement 0 lies.
struct Memory {
  Bytes bytes;
  std::byte* origin = nullptr;

  Memory(const std::vector<std::int64_t>& offsets, Generator& random) {
    const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
    const std::int64_t first = offsets.empty() ? 0 : *low;
    bytes.resize(offsets.empty() ? 1 : static_cast<std::size_t>(*high - first + 1));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.pick(0, 255));
    origin = moved(bytes.data(), -first);
  }
  std::byte& at(std::int64_t offset) { return *moved(origin, offset); }
};

}  // namespace rmq::test
