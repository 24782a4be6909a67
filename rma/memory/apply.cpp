// SPDX-License-Identifier: BSD-3-Clause
#include "rma/memory/apply.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "rma/memory/store.hpp"

namespace rmq::rma {
namespace {

constexpr std::uint64_t kChunk = 64 * 1024;  // bytes packed at a time where a side is not contiguous
constexpr std::size_t kPieces = 64;

/// Memory of `target` from `at` on, piece by piece: fn(memory, bytes).
template <class F>
void for_each_piece(const DataView& target, std::uint64_t at, std::uint64_t bytes, F&& fn) {
  if (target.is_contiguous()) return fn(target.base + at, bytes);
  std::array<iovec, kPieces> pieces;
  while (bytes > 0) {
    std::uint64_t covered = 0;
    const std::size_t n = iovecs(target, at, bytes, pieces, covered);
    if (covered == 0) return;
    for (std::size_t i = 0; i < n; ++i) fn(static_cast<std::byte*>(pieces[i].iov_base), pieces[i].iov_len);
    at += covered;
    bytes -= covered;
  }
}

void combine_run(ReduceOp op, const Element& e, std::byte* at, const std::byte* in, std::uint64_t n) {
  if (op == ReduceOp::no_op) return;
  if (op == ReduceOp::replace) return store_once(at, in, n * e.packed);
  reduce(op, e.basic, in, at, n);
}

// Elements with a gap: value and index lie apart in memory, and what lies between them is not the element's.
struct PairShape {
  std::size_t value, index_at;  // bytes of the value, where the index (an int) lies in memory
};

PairShape shape_of(Basic basic) {
  switch (basic) {
    case Basic::i16_i32:
      return {2, 4};
    case Basic::f80_i32:
      return {16, 16};
    default:
      return {8, 8};
  }
}

void spread(const PairShape& s, std::byte* memory, const std::byte* packed) {
  std::memcpy(memory, packed, s.value);
  std::memcpy(memory + s.index_at, packed + s.value, sizeof(std::int32_t));
}

void gather(const PairShape& s, std::byte* packed, const std::byte* memory) {
  std::memcpy(packed, memory, s.value);
  std::memcpy(packed + s.value, memory + s.index_at, sizeof(std::int32_t));
}

// The element's bytes are found by the target's layout alone, however its parts lie: a datatype from elsewhere may say
// that it is made of pairs, and be anything.
void combine_pair(ReduceOp op, const Element& e, const DataView& target, std::uint64_t at, const std::byte* in,
                  std::byte* before) {
  alignas(16) std::array<std::byte, 32> ours{}, theirs{}, packed{};
  const PairShape s = shape_of(e.basic);
  const std::size_t size = s.value + sizeof(std::int32_t);  // e.packed
  pack(packed.data(), target, at, size);
  if (before) std::memcpy(before, packed.data(), size);
  if (op == ReduceOp::no_op) return;
  if (op == ReduceOp::replace) return unpack(target, at, in, size);
  spread(s, theirs.data(), in);
  spread(s, ours.data(), packed.data());
  reduce(op, e.basic, theirs.data(), ours.data(), 1);
  gather(s, packed.data(), ours.data());
  unpack(target, at, packed.data(), size);
}

std::byte* address_of(const DataView& view, std::uint64_t at) {
  iovec piece{};
  std::uint64_t covered = 0;
  iovecs(view, at, 1, {&piece, 1}, covered);
  return static_cast<std::byte*>(piece.iov_base);
}

// Whether accumulates of this element are CPU atomics there: those who share the memory know of no mutexes.
bool is_atomic(const Element& e, const Regions& regions) {
  return regions.atomic && !e.has_gap() && (e.packed == 4 || e.packed == 8);
}

// fn(std::atomic_ref<Word>&) for the word at `at`, which is aligned as the program's own atomics need it.
template <class Fn>
void with_word(const Element& e, std::byte* at, Fn&& fn) {
  if (e.packed == 4)
    fn(std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at)));
  else
    fn(std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)));
}

void combine_atomic(ReduceOp op, const Element& e, std::byte* at, const void* in, void* before) {
  with_word(e, at, [&](auto word) {
    auto found = word.load(), made = found;
    do {
      made = found;
      combine_run(op, e, reinterpret_cast<std::byte*>(&made), static_cast<const std::byte*>(in), 1);
    } while (op != ReduceOp::no_op && !word.compare_exchange_weak(found, made));
    if (before) std::memcpy(before, &found, sizeof found);
  });
}

}  // namespace

std::optional<Element> element_of(Basic basic, std::uint32_t packed) {
  if (packed == 0) return std::nullopt;
  const std::optional<std::uint32_t> known = basic_packed_size(basic);
  if (!known || (*known != 0 && *known != packed)) return std::nullopt;
  if (*known == 0) return basic == Basic::character ? std::optional<Element>({basic, packed, packed}) : std::nullopt;
  return Element{basic, packed, static_cast<std::uint32_t>(basic_size(basic))};
}

std::optional<Element> element_of(const Layout& layout) {
  return element_of(layout.element(), static_cast<std::uint32_t>(layout.element_size()));
}

bool can_compare(const Element& e) {
  switch (e.basic) {
    case Basic::i8:
    case Basic::u8:
    case Basic::i16:
    case Basic::u16:
    case Basic::i32:
    case Basic::u32:
    case Basic::i64:
    case Basic::u64:
    case Basic::boolean:
    case Basic::logical:
    case Basic::byte:
    case Basic::character:
      return e.packed <= 8;
    default:
      return false;
  }
}

void combine(ReduceOp op, const Element& e, const DataView& target, std::uint64_t at, const std::byte* in,
             std::uint64_t bytes, std::byte* before, const Regions& regions) {
  RegionGuard guard(regions);
  if (e.has_gap()) {
    for (std::uint64_t done = 0; done + e.packed <= bytes; done += e.packed) {
      guard.cover(address_of(target, at + done), e.memory, 1);
      combine_pair(op, e, target, at + done, in ? in + done : nullptr, before ? before + done : nullptr);
    }
    return;
  }
  for_each_piece(target, at, bytes, [&](std::byte* to, std::uint64_t length) {
    if (is_atomic(e, regions)) {
      for (; length >= e.packed; length -= e.packed) {
        combine_atomic(op, e, to, in, before);
        to += e.packed;
        if (in) in += e.packed;
        if (before) before += e.packed;
      }
      return;
    }
    for (std::uint64_t left = length / e.packed; left > 0;) {
      const std::uint64_t n = guard.cover(to, e.packed, left);
      const std::uint64_t step = n * e.packed;
      if (before) {
        copy_bytes(before, to, step);
        before += step;
      }
      combine_run(op, e, to, in, n);
      if (in) in += step;
      to += step;
      left -= n;
    }
  });
}

void combine_views(ReduceOp op, const Element& e, const DataView& target, const DataView& in, const DataView& before,
                   const Regions& regions) {
  const bool reads = op != ReduceOp::no_op, fetches = before.base != nullptr || before.layout != nullptr;
  if ((!reads || in.is_contiguous()) && (!fetches || before.is_contiguous())) {
    return combine(op, e, target, 0, reads ? in.base : nullptr, target.bytes, fetches ? before.base : nullptr, regions);
  }
  const std::uint64_t chunk = std::min(target.bytes, std::max<std::uint64_t>(kChunk / e.packed, 1) * e.packed);
  const auto packed_in = std::make_unique_for_overwrite<std::byte[]>(chunk);
  const auto packed_out = std::make_unique_for_overwrite<std::byte[]>(chunk);
  for (std::uint64_t at = 0; at < target.bytes; at += chunk) {
    const std::uint64_t bytes = std::min(chunk, target.bytes - at);
    if (reads) pack(packed_in.get(), in, at, bytes);
    combine(op, e, target, at, reads ? packed_in.get() : nullptr, bytes, fetches ? packed_out.get() : nullptr, regions);
    if (fetches) unpack(before, at, packed_out.get(), bytes);
  }
}

void combine_one(ReduceOp op, const Element& e, std::byte* at, const void* in, void* before, const Regions& regions) {
  if (is_atomic(e, regions)) return combine_atomic(op, e, at, in, before);
  RegionGuard guard(regions);
  guard.cover(at, e.packed, 1);
  if (before) std::memcpy(before, at, e.packed);
  combine_run(op, e, at, static_cast<const std::byte*>(in), 1);
}

void compare_and_swap(const Element& e, std::byte* at, const void* compare, const void* value, void* before,
                      const Regions& regions) {
  if (is_atomic(e, regions)) {
    return with_word(e, at, [&](auto word) {
      auto found = word.load(), made = found;
      std::memcpy(&found, compare, sizeof found);
      std::memcpy(&made, value, sizeof made);
      word.compare_exchange_strong(found, made);
      std::memcpy(before, &found, sizeof found);
    });
  }
  RegionGuard guard(regions);
  guard.cover(at, e.packed, 1);
  std::array<std::byte, 8> found{};
  std::memcpy(found.data(), at, e.packed);
  if (std::memcmp(found.data(), compare, e.packed) == 0) std::memcpy(at, value, e.packed);
  std::memcpy(before, found.data(), e.packed);
}

Span span_of(const Layout& layout, std::uint64_t count) {
  if (count == 0 || layout.size() == 0) return {};
  const __int128 steps = static_cast<__int128>(layout.extent()) * static_cast<__int128>(count - 1);
  return {layout.true_lb() + std::min<__int128>(steps, 0), layout.true_extent() + (steps < 0 ? -steps : steps)};
}

bool lies_within(const Layout& layout, std::uint64_t count, std::uint64_t offset, std::uint64_t size) {
  const Span span = span_of(layout, count);
  const __int128 low = span.low + offset;
  return span.length == 0 || (low >= 0 && low + span.length <= size);
}

}  // namespace rmq::rma
