// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a directed pair's ring, with packets: how one is written, how the next one is read.
// Hot path: every line touched here is counted in design/shm.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/data/copy.hpp"
#include "base/data/data_view.hpp"
#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"
#include "shm/byte_ring.hpp"
#include "shm/cell_ring.hpp"
#include "shm/directory.hpp"

namespace rmq::shm {

/// The sender's end. Default-made it is full for ever: what an unconnected or lost peer has.
struct Outbound {
  CellWriter cells;
  ByteWriter bytes;
  Atomic<std::uint32_t>* sleeping = nullptr;  // the receiver's announcement
  Ring ring;
  Rank rank = kNoRank;
  std::uint64_t no_memory_until_ns = 0;  // the system has refused more for the byte ring: not asked again before

  Outbound() = default;
  Outbound(const Ring& its_ring, const Shape& shape, RankControl& peer, Rank peer_rank)
      : cells(its_ring.cells, shape.cells),
        bytes(its_ring.bytes, shape.ring_bytes, shape.first_bytes),
        sleeping(&peer.sleeping),
        ring(its_ring),
        rank(peer_rank) {}

  /// All of a packet but stamp and payload. In words of the size in which the fields have just been written: a wider
  /// load over them would wait until the stores have left the store buffer.
  static void copy_fields(Cell& cell, const Packet& packet, std::size_t fields) {
    const auto* from = reinterpret_cast<const std::byte*>(&packet);
    auto* to = reinterpret_cast<std::byte*>(&cell);
    for (std::size_t at = offsetof(Packet, kind); at < kHeaderBytes; at += 4) std::memcpy(to + at, from + at, 4);
    for (std::size_t at = kHeaderBytes; at < kHeaderBytes + fields; at += 4) std::memcpy(to + at, from + at, 4);
  }

  /// Writes and publishes a packet. The cell ring must not be full; false, with nothing changed, when the byte ring is.
  bool write(const Packet& packet, const Payload& payload) {
    Cell& cell = cells.cell();
    const std::size_t fields = body_bytes(packet.kind);
    const std::uint32_t length = packet.length;
    if (length <= kBodyBytes - fields) [[likely]] {
      copy_fields(cell, packet, fields);
      std::byte* to = reinterpret_cast<std::byte*>(&cell) + kHeaderBytes + fields;
      if (payload.is_contiguous()) [[likely]]
        copy_bytes(to, payload.data(), length);
      else
        pack(to, payload.view, payload.offset, length);
    } else {
      std::byte* to = bytes.reserve(length);
      if (to == nullptr) [[unlikely]]
        return false;
      copy_fields(cell, packet, fields);
      if (payload.is_contiguous()) [[likely]]
        copy_bytes(to, payload.data(), length);
      else
        pack(to, payload.view, payload.offset, length);
    }
    cells.publish();
    return true;
  }

  /// The same for a packet that is nothing but a header, and contiguous payload: straight from where its fields are.
  [[gnu::always_inline]] bool write_header(const Packet& packet, const std::byte* payload) {
    Cell& cell = cells.cell();
    auto* const at = reinterpret_cast<std::byte*>(&cell);
    if (packet.length <= kBodyBytes) [[likely]] {
      static_assert(kBodyBytes <= detail::kTiny);
      detail::copy_tiny(at + kHeaderBytes, payload, packet.length);
    } else {
      std::byte* const to = bytes.reserve(packet.length);
      if (to == nullptr) [[unlikely]]
        return false;
      copy_bytes(to, payload, packet.length);
    }
    copy_header(at, packet);
    cells.publish();
    return true;
  }

  /// Writes a packet whose payload found the byte ring full, there being a cell, into the ring grown to `size`: see
  /// ByteWriter::grow.
  void grow_and_write(Packet packet, const Payload& payload, std::uint64_t size) {
    packet.spare = bytes.grow(size);  // stays between the two ends
    RMQ_CHECK(write(packet, payload));
  }

  /// Takes note of what the receiver has returned; false when its counts make no sense.
  bool refresh() { return cells.returned(ring.header->cells_taken) && bytes.returned(ring.header->bytes_taken); }
  /// Whether the receiver has returned something since the latest refresh (it never returns bytes without cells).
  bool may_refresh() const { return cells.may_return(ring.header->cells_taken); }
};

/// The receiver's end.
struct Inbound {
  CellReader cells;
  ByteReader bytes;
  RingHeader* header = nullptr;
  Atomic<std::uint32_t>* sleeping = nullptr;  // the sender's, which may wait for room
  Rank rank = kNoRank;
  std::uint32_t host_rank = 0;

  Inbound(const Ring& ring, const Shape& shape, RankControl& peer, Rank peer_rank, std::uint32_t peer_host_rank)
      : cells(ring.cells, shape.cells),
        bytes(ring.bytes, shape.ring_bytes, shape.first_bytes),
        header(ring.header),
        sleeping(&peer.sleeping),
        rank(peer_rank),
        host_rank(peer_host_rank) {}

  /// Copies the packet of a ready cell out, so that it cannot change under its handler, and finds its payload, which
  /// stays in the ring (or in `packet`) until give_back. False when it is one that no sender of ours writes.
  bool read(Packet& packet, const std::byte*& payload) {
    std::memcpy(static_cast<void*>(&packet), &cells.cell(), sizeof packet);
    const std::size_t fields = body_bytes(packet.kind);
    if (packet.length <= kBodyBytes - fields) [[likely]] {
      payload = reinterpret_cast<const std::byte*>(&packet) + kHeaderBytes + fields;
    } else {
      if (packet.spare != 0) [[unlikely]] {
        if (!bytes.grow(packet.spare)) return false;
        packet.spare = 0;
      }
      if (packet.length > bytes.size()) [[unlikely]]  // behind the part in use there may be no memory
        return false;
      payload = bytes.take(packet.length);
    }
    return true;
  }

  /// Whether the sender writes no more. Acquire: all that it has written before is visible then.
  bool given_up() const { return header->given_up.load(std::memory_order_acquire) != 0; }

  bool return_is_due() const { return cells.return_is_due() || bytes.return_is_due(); }
  void give_back() {
    // Bytes first: who sees the cells returned also finds room for their payload.
    bytes.give_back(header->bytes_taken);
    cells.give_back(header->cells_taken);
  }
};

}  // namespace rmq::shm
