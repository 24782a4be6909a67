// SPDX-License-Identifier: BSD-3-Clause
// The execution of operations on memory that lies in this process, or is mapped here: by the origin itself (direct
// access) or by the target for an origin that sends packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "base/data/reduction.hpp"
#include "rma/memory/regions.hpp"

namespace rmq::rma {

/// A predefined type as accumulates see it.
struct Element {
  Basic basic = Basic::none;
  std::uint32_t packed = 0;  // bytes in packed order
  std::uint32_t memory = 0;  // bytes in memory: more, when there is a gap in it (pairs)
  bool has_gap() const { return memory != packed; }
};

/// The one predefined type that a layout is made of; nullopt when there is none (also: no data).
std::optional<Element> element_of(const Layout& layout);
/// The same from what travels in packets; nullopt when the two do not fit together.
std::optional<Element> element_of(Basic basic, std::uint32_t packed);

/// Whether CAS is defined: integers, logicals, bytes.
bool can_compare(const Element& element);

/// Combines bytes [at, at + bytes) of `target`, packed order, whole elements, with `in` (packed; not read with no_op),
/// and stores what was there before in `before` (packed), unless that is null.
void combine(ReduceOp op, const Element& element, const DataView& target, std::uint64_t at, const std::byte* in,
             std::uint64_t bytes, std::byte* before, const Regions& regions);

/// The same for views of any layout on all sides. `before` may have no base: nothing is stored then.
void combine_views(ReduceOp op, const Element& element, const DataView& target, const DataView& in,
                   const DataView& before, const Regions& regions);

/// One element of a type without a gap at `at`; all as they lie in memory.
void combine_one(ReduceOp op, const Element& element, std::byte* at, const void* in, void* before,
                 const Regions& regions);

/// Stores `value` at `at` if `compare` is there; what was there goes to `before`.
void compare_and_swap(const Element& element, std::byte* at, const void* compare, const void* value, void* before,
                      const Regions& regions);

/// The bytes that `count` elements of a layout lie in, from `low` on relative to the first one's origin; nothing for no
/// data. Wide enough for whatever a program or a packet says.
struct Span {
  __extension__ __int128 low = 0, length = 0;
};
Span span_of(const Layout& layout, std::uint64_t count);

/// Whether `count` elements of `layout` at `offset` lie within `size` bytes.
bool lies_within(const Layout& layout, std::uint64_t count, std::uint64_t offset, std::uint64_t size);

}  // namespace rmq::rma
