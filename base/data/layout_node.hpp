// SPDX-License-Identifier: BSD-3-Clause
// The inside of a Layout: a normalised tree that says where the data bytes of one element lie. Private to base/.
//
// A *run* is a number of adjacent bytes and has no node of its own: it is a null NodeRef plus a byte count. Every node
// is positioned so that its first byte in packed order is at 0; whoever holds the node adds the displacement. Hence
// equal shapes at different displacements are equal nodes, and merging needs to look at displacements only.
// A list of short runs of several lengths also knows its *grains*: the same bytes as equal pieces, whose length divides
// every run. The list is what is sent to others and handed to the kernel; the grains are what the processor copies,
// since a loop over equal pieces costs a tenth of a choice by length for each run. Nodes are immutable once built and
// shared between layouts (a DAG, never a cycle).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/data/layout.hpp"

namespace rmq::layout_detail {

/// A list that holds other lists takes over their entries while the sum stays below this: flat lists pack fastest, but
/// a DAG of shared lists could grow exponentially. For signatures as for nodes.
inline constexpr std::size_t kSpliceLimit = 1024;

/// Deeper nests are refused: packing recurses once per level.
inline constexpr std::uint32_t kMaxDepth = 256;

enum class NodeKind : std::uint8_t {
  loop = 1,     // `count` children, `stride` apart
  scatter = 2,  // one child at each of `displacements`
  list = 3,     // entry i, a run or a node of its own, at displacements[i]
};

struct Node {
  NodeKind kind = NodeKind::loop;
  std::uint32_t depth = 1;                  // nodes on the longest way down, itself included
  std::uint64_t size = 0;                   // bytes: all data of the node, never 0
  std::uint64_t blocks = 0;                 // runs in it, each counted as often as it is visited
  std::uint64_t count = 0;                  // iterations, or entries
  std::uint64_t unit = 0;                   // bytes of one child (loop, scatter)
  std::int64_t stride = 0;                  // bytes between the first bytes of successive children (loop); may be <= 0
  std::int64_t low = 0;                     // lowest data byte, relative to the node's first byte in packed order
  std::int64_t high = 0;                    // end of the highest data byte
  NodeRef child;                            // loop, scatter; null: a run of `unit` bytes
  std::vector<std::int64_t> displacements;  // scatter, list; [0] is 0 in what the makers below build
  std::vector<std::uint64_t> starts;        // list: packed offset of entry i; one more, the size, at the end
  std::vector<NodeRef> children;            // list: null for a run; empty when every entry is a run
  std::uint64_t grain = 0;                  // list of runs: bytes that divide every run; 0: it has no `grains`
  std::vector<std::int64_t> grains;         // list of runs: where each piece of `grain` bytes lies, in packed order
};

/// A run of `bytes` bytes (node null) or a node of that size, `at` bytes from the holder's origin. Empty: bytes == 0.
struct Placed {
  std::int64_t at = 0;
  std::uint64_t bytes = 0;
  NodeRef node;
};

/// Fills in size, blocks, unit, depth, low, high and the grains, and checks kind, count, children and displacements
/// against each other. For a list `starts` must be set. False when anything is inconsistent or leaves the 64-bit range.
bool complete(Node& node);

/// `count` copies of `child`, `stride` bytes apart, in the simplest form that visits the same bytes in the same order.
/// nullopt: the result does not fit 64 bits or is nested too deeply.
std::optional<Placed> make_loop(std::uint64_t count, std::int64_t stride, const Placed& child);

/// The entries one after the other, in the simplest form. nullopt as above.
std::optional<Placed> make_list(std::vector<Placed> entries);

/// Lowest and highest+1 data byte of `what` relative to its holder's origin; false when they leave the 64-bit range.
bool bounds(const Placed& what, std::int64_t& low, std::int64_t& high);

}  // namespace rmq::layout_detail
