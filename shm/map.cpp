// SPDX-License-Identifier: BSD-3-Clause
#include "shm/map.hpp"

#include <algorithm>
#include <bit>

#include "shm/segment.hpp"

namespace rmq::shm {
namespace {

constexpr std::uint32_t kFirstBytes = 16 * 1024;  // stays in the first-level cache
constexpr std::uint32_t kLeastFirstBytes = 512;
constexpr std::uint32_t kMostInboxCells = 1024;  // for a packet of each, up to so many
constexpr std::uint64_t kAllHeaps = std::uint64_t{8} << 40;

struct Sizes {
  std::uint32_t up_to_ranks, cells, ring_bytes;
};

// Two ranks get rings larger than the second-level cache, which stream faster than small ones (design/shm.md). With
// more ranks memory is what counts: all pairs together stay below 17 MB up to 16 ranks; above, a rank pays only for the
// pairs it uses, and for as much of their rings.
constexpr Sizes kSizes[] = {
    {2, 1024, 4u << 20}, {4, 512, 512u << 10}, {8, 256, 128u << 10}, {64, 64, 64u << 10}, {UINT32_MAX, 32, 32u << 10},
};

std::uint32_t power_of_two(std::uint64_t wanted, std::uint64_t least, std::uint64_t most) {
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp(wanted, least, most)));
}

}  // namespace

Shape choose_shape(const Config& config, std::uint32_t ranks) {
  const Sizes& sizes =
      *std::find_if(std::begin(kSizes), std::end(kSizes), [&](const Sizes& s) { return ranks <= s.up_to_ranks; });
  Shape shape;
  shape.ranks = ranks;
  shape.cells = config.shm_cells != 0 ? power_of_two(config.shm_cells / sizeof(Cell), 8, 1u << 20) : sizes.cells;
  shape.ring_bytes = config.shm_ring != 0 ? power_of_two(config.shm_ring, kPage, 1u << 28) : sizes.ring_bytes;
  shape.first_bytes = std::min(shape.ring_bytes, kFirstBytes);
  shape.has_rings = ranks <= config.shm_reserve ? 1 : 0;
  if (shape.has_rings == 0) {  // no page only for the first bytes
    const std::uint64_t head = sizeof(RingHeader) + shape.cells * sizeof(Cell);
    const std::uint64_t room = round_up(head + kLeastFirstBytes, kPage) - head;
    shape.first_bytes = std::min(shape.first_bytes, static_cast<std::uint32_t>(std::bit_floor(room)));
  }
  // Address space only, but it ends somewhere: all heaps together span at most 8 TB.
  shape.heap_bytes = round_up(std::min<std::uint64_t>(config.shm_heap, kAllHeaps / ranks), kPage);
  return shape;
}

Map::Map(const Shape& shape)
    : shape_(shape),
      inbox_cells_(std::bit_ceil(std::clamp(shape.ranks, 2u, kMostInboxCells))),
      inboxes_at_(control_at(shape.ranks)),
      inbox_stride_(sizeof(InboxHeader) + inbox_cells_ * sizeof(Cell)),
      rings_at_(round_up(inbox_at(shape.ranks), kPage)),
      ring_stride_(round_up(sizeof(RingHeader) + shape.cells * sizeof(Cell) + shape.ring_bytes,
                            shape.has_rings != 0 ? kCacheLine : kPage)),
      heaps_at_(round_up(ring_at(rings()), kPage)) {}

}  // namespace rmq::shm
