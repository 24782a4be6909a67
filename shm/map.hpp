// SPDX-License-Identifier: BSD-3-Clause
// The segment map: what lies where in a host's shared segment, and who may write which line of it.
//
//    header | controls: 320 bytes a rank | inboxes: one a rank | rings: as many as pairs, claimed one by one |
//    heaps: one a rank
//
// All positions are offsets and follow from six numbers (Shape), which the header repeats so that whoever attaches can
// check them. Nothing but what comes before the rings (and, on hosts of few ranks, the rings) is reserved at start.
// A new segment is all zero, and zero is the initial state of everything in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/config.hpp"
#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"
#include "shm/cell_ring.hpp"

namespace rmq::shm {

/// What every position follows from. Sizes in bytes unless said.
struct Shape {
  std::uint32_t ranks = 0;        // on this host, 2 and more
  std::uint32_t cells = 0;        // one-line packets in a ring, power of two
  std::uint32_t ring_bytes = 0;   // payload of a ring, power of two
  std::uint32_t first_bytes = 0;  // of these in use before a ring grows, power of two
  std::uint32_t has_rings = 0;    // 1: those of all pairs are reserved at start; 0: pairs begin by inbox
  std::uint64_t heap_bytes = 0;   // range of one rank's heap, whole pages
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// The shape for `ranks` ranks: sizes from the configuration where it gives some, else by the number of ranks.
Shape choose_shape(const Config& config, std::uint32_t ranks);

struct SegmentHeader {
  // Line 0 and 1: written by the creator before its ticket is published, then constant.
  std::array<char, 8> magic;
  std::array<char, 40> job;  // job id, zero-terminated
  Shape shape;
  std::uint64_t bytes;       // of the whole segment
  std::uint32_t asymmetric;  // 1: waiting ranks use the asymmetric fence (base/os/fence.hpp)
  // Line 2: written by any rank that connects.
  alignas(kCacheLine) Atomic<std::uint32_t> rings_claimed;
};
static_assert(sizeof(SegmentHeader) == 3 * kCacheLine);

/// Life of a rank in RankControl::state.
namespace rank_state {
inline constexpr std::uint32_t absent = 0;
inline constexpr std::uint32_t here = 1;
inline constexpr std::uint32_t closed = 2;  // said good-bye: its end is no failure
}  // namespace rank_state

/// A long transfer in which the other side may help: see shm/transfer.hpp.
struct TransferSlot {
  // Written by the active rank while nothing is left to claim; read by the helper. Relaxed: `claim` orders them.
  Atomic<std::uint32_t> helper;     // host rank that may help
  Atomic<std::uint32_t> put;        // 1: towards the helper
  Atomic<std::uint64_t> active_at;  // address of the data in the active rank
  Atomic<std::uint64_t> helper_at;  // address of the data in the helper
  Atomic<std::uint64_t> bytes;
  Atomic<std::uint64_t> chunk;   // bytes of one claim
  Atomic<std::uint32_t> listed;  // 1: this slot stands in a helpers list
  Atomic<std::uint32_t> next;    // the one behind it in that list: host rank + 1
  // Written by both. Generation << 32 | chunks that nobody has claimed yet; the last ones are claimed last.
  alignas(kCacheLine) Atomic<std::uint64_t> claim;
  Atomic<std::uint64_t> helped;  // generation << 32 | chunks that the helper is through with, and kHelpFailed
};

/// One rank's lines.
struct RankControl {
  // Line 0: written by the rank itself at start and when it sleeps, wakes and ends; read by every sender.
  Atomic<std::uint32_t> sleeping;  // 1: ring when there is something for it; whoever does writes 0
  Atomic<std::uint32_t> state;     // rank_state; the release of `here` publishes the rest of the line
  std::int32_t pid;
  std::uint32_t single_copy;    // 1: the kernel lets this rank call process_vm_readv
  std::uint64_t pid_namespace;  // inode; pids of another namespace mean nothing here
  std::uint64_t probe_address;  // of a word in this rank's memory …
  std::uint64_t probe_word;     // … that has this value
  // Line 1: what peers want of this rank, which takes each as a whole.
  alignas(kCacheLine) Atomic<std::uint32_t> mail;  // 1: something has come into the inbox; the rank writes 0
  Atomic<std::uint32_t> helpers;                   // list: host rank + 1 of a rank whose slot wants help
  Atomic<std::uint32_t> rings;                     // list: index + 1 of a ring that leads to the rank from now on
  // Lines 2 and 3.
  alignas(kCacheLine) TransferSlot slot;
  // Line 4: written by the rank as it starts and ends to wait; read by peers that may fetch long data from it.
  alignas(kCacheLine) std::atomic<std::uint32_t> attention;
};
static_assert(sizeof(RankControl) == 5 * kCacheLine);

/// Head of a ring from one rank to another; its cells and then its bytes follow.
struct RingHeader {
  // Line 0: written by the sender when it connects.
  std::uint32_t from, to;          // host ranks
  Atomic<std::uint32_t> given_up;  // 1: the sender has lost its receiver, and writes no more
  Atomic<std::uint32_t> next;      // the one behind it in the receiver's list of rings: index + 1
  Atomic<std::uint64_t> behind;    // its packets come behind those of the receiver's inbox before this position
  // Line 1: written by the receiver now and then: what the sender may use again.
  alignas(kCacheLine) Atomic<std::uint64_t> cells_taken;
  Atomic<std::uint64_t> bytes_taken;
};
static_assert(sizeof(RingHeader) == 2 * kCacheLine);

/// Head of a rank's inbox; its cells follow.
struct InboxHeader {
  // Line 0: written by every sender.
  Atomic<std::uint64_t> tail;  // position of the next packet
  // Line 1: written by the owner now and then, and by senders that were refused.
  alignas(kCacheLine) Atomic<std::uint64_t> taken;  // what senders may use again ends `size` behind it
  Atomic<std::uint32_t> wanted;                     // 1: somebody sleeps for want of room
};
static_assert(sizeof(InboxHeader) == 2 * kCacheLine);

/// Positions in a segment of one shape; bytes from its start.
class Map {
 public:
  explicit Map(const Shape& shape);

  const Shape& shape() const { return shape_; }
  std::uint64_t control_at(std::uint32_t rank) const { return sizeof(SegmentHeader) + rank * sizeof(RankControl); }
  std::uint32_t inbox_cells() const { return inbox_cells_; }
  std::uint64_t inbox_at(std::uint32_t rank) const { return inboxes_at_ + rank * inbox_stride_; }
  std::uint32_t rings() const { return shape_.ranks * (shape_.ranks - 1); }
  std::uint64_t rings_at() const { return rings_at_; }
  std::uint64_t ring_at(std::uint32_t index) const { return rings_at_ + index * ring_stride_; }
  std::uint64_t cells_at(std::uint32_t index) const { return ring_at(index) + sizeof(RingHeader); }
  std::uint64_t bytes_at(std::uint32_t index) const { return cells_at(index) + shape_.cells * sizeof(Cell); }
  std::uint64_t heaps_at() const { return heaps_at_; }
  std::uint64_t heap_at(std::uint32_t rank) const { return heaps_at_ + rank * shape_.heap_bytes; }
  std::uint64_t bytes() const { return heap_at(shape_.ranks); }

  std::uint64_t reserved_at_start() const { return shape_.has_rings != 0 ? heaps_at_ : rings_at_; }  // by the creator

 private:
  Shape shape_;
  std::uint32_t inbox_cells_;
  std::uint64_t inboxes_at_, inbox_stride_, rings_at_, ring_stride_, heaps_at_;
};

}  // namespace rmq::shm
