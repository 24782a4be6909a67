// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/layout_node.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rmq::layout_detail {
namespace {

// Loops over runs that are this short are unrolled into the list around them.
constexpr std::uint64_t kUnrollLimit = 8;

// A list has grains when it has so many runs at least, and at most so many pieces for each run. A choice by length
// costs about as much as so many pieces.
constexpr std::uint64_t kGrainedRuns = 8;
constexpr std::uint64_t kGrainsPerRun = 12;

constexpr std::uint64_t kMaxBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool same_shape(const Placed& a, const Placed& b) {
  return a.node == b.node && a.bytes == b.bytes;
}

bool child_bounds(const NodeRef& child, std::uint64_t unit, std::int64_t& low, std::int64_t& high) {
  low = child ? child->low : 0;
  high = child ? child->high : static_cast<std::int64_t>(unit);
  return unit != 0 && unit <= kMaxBytes;
}

/// Widens [node.low, node.high) to include [low, high) moved by `at`.
bool widen(Node& node, std::int64_t at, std::int64_t low, std::int64_t high) {
  if (__builtin_add_overflow(low, at, &low) || __builtin_add_overflow(high, at, &high)) return false;
  node.low = std::min(node.low, low);
  node.high = std::max(node.high, high);
  return true;
}

bool complete_loop(Node& node, std::int64_t low, std::int64_t high) {
  std::int64_t last = 0;  // displacement of the last child
  return node.count - 1 <= kMaxBytes &&
         !__builtin_mul_overflow(static_cast<std::int64_t>(node.count - 1), node.stride, &last) &&
         widen(node, 0, low, high) && widen(node, last, low, high);
}

bool complete_scatter(Node& node, std::int64_t low, std::int64_t high) {
  return node.count == node.displacements.size() &&
         std::all_of(node.displacements.begin(), node.displacements.end(),
                     [&](std::int64_t at) { return widen(node, at, low, high); });
}

/// Gives a complete list of runs its grains, where they pay.
void make_grains(Node& node) {
  node.grain = 0;
  node.grains.clear();
  if (node.count < kGrainedRuns) return;
  std::uint64_t grain = 0;
  for (std::size_t i = 0; i < node.count; ++i) grain = std::gcd(grain, node.starts[i + 1] - node.starts[i]);
  if (node.size / grain > kGrainsPerRun * node.count) return;
  node.grain = grain;
  node.grains.reserve(node.size / grain);
  for (std::size_t i = 0; i < node.count; ++i) {
    const std::uint64_t bytes = node.starts[i + 1] - node.starts[i];
    // No overflow: each sum is the address of a data byte of the node, whose bounds were checked.
    for (std::uint64_t at = 0; at < bytes; at += grain)
      node.grains.push_back(node.displacements[i] + static_cast<std::int64_t>(at));
  }
}

bool complete_list(Node& node) {
  if (node.count != node.displacements.size() || node.starts.size() != node.count + 1 || node.starts[0] != 0) {
    return false;
  }
  if (!node.children.empty() && node.children.size() != node.count) return false;
  node.unit = 0;
  node.size = node.starts[node.count];
  node.blocks = 0;
  for (std::size_t i = 0; i < node.count; ++i) {
    if (node.starts[i] >= node.starts[i + 1]) return false;
    const std::uint64_t bytes = node.starts[i + 1] - node.starts[i];
    const NodeRef child = node.children.empty() ? nullptr : node.children[i];
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (child && child->size != bytes) return false;
    if (!child_bounds(child, bytes, low, high) || !widen(node, node.displacements[i], low, high)) return false;
    node.blocks += child ? child->blocks : 1;
    if (child) node.depth = std::max(node.depth, child->depth + 1);
  }
  if (node.children.empty()) make_grains(node);
  return true;
}

/// The displacement step all entries share, if they do. Precondition: two entries or more, all of one shape.
std::optional<std::int64_t> common_stride(const std::vector<Placed>& entries) {
  std::int64_t stride = 0;
  if (__builtin_sub_overflow(entries[1].at, entries[0].at, &stride)) return std::nullopt;
  for (std::size_t i = 2; i < entries.size(); ++i) {
    std::int64_t step = 0;
    if (__builtin_sub_overflow(entries[i].at, entries[i - 1].at, &step) || step != stride) return std::nullopt;
  }
  return stride;
}

/// How many entries `entry` becomes when its node is dissolved into the list around it; 1 when it stays.
std::uint64_t entries_when_spliced(const Placed& entry) {
  if (!entry.node) return 1;
  const bool stays = entry.node->kind == NodeKind::loop && (entry.node->child || entry.node->count > kUnrollLimit);
  return stays ? 1 : entry.node->count;
}

void splice(const Placed& entry, std::vector<Placed>& to) {
  if (entries_when_spliced(entry) == 1) {
    to.push_back(entry);
    return;
  }
  const Node& node = *entry.node;
  for (std::size_t i = 0; i < node.count; ++i) {
    // No overflow: the sum is the address of a data byte of `entry`, and its bounds were checked.
    if (node.kind == NodeKind::loop) {
      to.push_back({entry.at + static_cast<std::int64_t>(i) * node.stride, node.unit, node.child});
    } else if (node.kind == NodeKind::scatter) {
      to.push_back({entry.at + node.displacements[i], node.unit, node.child});
    } else {
      to.push_back({entry.at + node.displacements[i], node.starts[i + 1] - node.starts[i],
                    node.children.empty() ? nullptr : node.children[i]});
    }
  }
}

void splice_all(std::vector<Placed>& entries) {
  std::uint64_t total = 0;
  for (const Placed& entry : entries) {
    total += entries_when_spliced(entry);
    if (total > kSpliceLimit) return;
  }
  if (total == entries.size()) return;
  std::vector<Placed> flat;
  flat.reserve(total);
  for (const Placed& entry : entries) splice(entry, flat);
  entries = std::move(flat);
}

void merge_adjacent_runs(std::vector<Placed>& entries) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    Placed& last = entries[kept];
    std::int64_t end = 0;
    const bool adjacent = !last.node && !entries[i].node &&
                          !__builtin_add_overflow(last.at, static_cast<std::int64_t>(last.bytes), &end) &&
                          end == entries[i].at && last.bytes + entries[i].bytes <= kMaxBytes;
    if (adjacent) {
      last.bytes += entries[i].bytes;
    } else if (++kept != i) {
      entries[kept] = std::move(entries[i]);
    }
  }
  entries.resize(kept + 1);
}

std::optional<Placed> publish(std::int64_t at, Node&& node) {
  if (!complete(node)) return std::nullopt;
  const std::uint64_t size = node.size;
  Placed placed{at, size, std::make_shared<const Node>(std::move(node))};
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (!bounds(placed, low, high)) return std::nullopt;
  return placed;
}

/// The last step of make_list: two entries or more, nothing left to merge or dissolve.
std::optional<Placed> make_node(const std::vector<Placed>& entries, bool uniform) {
  Node node;
  node.kind = uniform ? NodeKind::scatter : NodeKind::list;
  node.count = entries.size();
  node.displacements.reserve(entries.size());
  for (const Placed& entry : entries) {
    std::int64_t at = 0;
    if (__builtin_sub_overflow(entry.at, entries[0].at, &at)) return std::nullopt;
    node.displacements.push_back(at);
  }
  if (uniform) {
    node.unit = entries[0].bytes;
    node.child = entries[0].node;
    return publish(entries[0].at, std::move(node));
  }
  node.starts.reserve(entries.size() + 1);
  node.starts.push_back(0);
  bool only_runs = true;
  for (const Placed& entry : entries) {
    std::uint64_t end = 0;
    if (__builtin_add_overflow(node.starts.back(), entry.bytes, &end)) return std::nullopt;
    node.starts.push_back(end);
    only_runs = only_runs && !entry.node;
  }
  if (!only_runs) {
    node.children.reserve(entries.size());
    for (const Placed& entry : entries) node.children.push_back(entry.node);
  }
  return publish(entries[0].at, std::move(node));
}

}  // namespace

bool complete(Node& node) {
  if (node.count == 0) return false;
  node.depth = 1;
  node.low = std::numeric_limits<std::int64_t>::max();
  node.high = std::numeric_limits<std::int64_t>::min();
  if (node.kind == NodeKind::list) {
    if (!complete_list(node)) return false;
  } else {
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (node.child) {
      node.unit = node.child->size;
      node.depth = node.child->depth + 1;
    }
    if (!child_bounds(node.child, node.unit, low, high)) return false;
    if (!(node.kind == NodeKind::loop ? complete_loop(node, low, high) : complete_scatter(node, low, high))) {
      return false;
    }
    if (__builtin_mul_overflow(node.count, node.unit, &node.size)) return false;
    node.blocks = node.count * (node.child ? node.child->blocks : 1);  // <= size: a block has a byte
  }
  std::int64_t span = 0;
  return node.size <= kMaxBytes && node.depth <= kMaxDepth && !__builtin_sub_overflow(node.high, node.low, &span);
}

std::optional<Placed> make_loop(std::uint64_t count, std::int64_t stride, const Placed& child) {
  if (count == 0 || child.bytes == 0) return Placed{};
  if (count == 1) return child;
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(count, child.bytes, &size) || size > kMaxBytes) return std::nullopt;
  if (!child.node && stride == static_cast<std::int64_t>(child.bytes)) {
    Placed run{child.at, size, nullptr};
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (!bounds(run, low, high)) return std::nullopt;
    return run;
  }
  Node node;
  node.kind = NodeKind::loop;
  node.count = count;
  node.stride = stride;
  node.unit = child.bytes;
  node.child = child.node;
  if (child.node && child.node->kind == NodeKind::loop) {
    // The outer step continues the inner one: a single, longer loop.
    const Node& inner = *child.node;
    std::int64_t whole = 0;
    if (inner.count <= kMaxBytes &&
        !__builtin_mul_overflow(static_cast<std::int64_t>(inner.count), inner.stride, &whole) && whole == stride) {
      node.count = count * inner.count;  // <= size, which fits
      node.stride = inner.stride;
      node.unit = inner.unit;
      node.child = inner.child;
    }
  }
  return publish(child.at, std::move(node));
}

std::optional<Placed> make_list(std::vector<Placed> entries) {
  std::erase_if(entries, [](const Placed& entry) { return entry.bytes == 0; });
  // First as given, then dissolved: a loop over equal structures is better than the list of all their runs.
  for (const bool dissolve : {false, true}) {
    if (entries.empty()) return Placed{};
    if (dissolve) splice_all(entries);
    merge_adjacent_runs(entries);
    if (entries.size() == 1) return entries[0];
    const bool uniform =
        std::all_of(entries.begin(), entries.end(), [&](const Placed& entry) { return same_shape(entry, entries[0]); });
    if (uniform) {
      if (const auto stride = common_stride(entries)) return make_loop(entries.size(), *stride, entries[0]);
    }
    if (dissolve) return make_node(entries, uniform);
  }
  return std::nullopt;
}

bool bounds(const Placed& what, std::int64_t& low, std::int64_t& high) {
  if (what.bytes == 0) {
    low = high = 0;
    return true;
  }
  if (!child_bounds(what.node, what.bytes, low, high)) return false;
  std::int64_t span = 0;
  return !__builtin_add_overflow(low, what.at, &low) && !__builtin_add_overflow(high, what.at, &high) &&
         !__builtin_sub_overflow(high, low, &span);
}

}  // namespace rmq::layout_detail
