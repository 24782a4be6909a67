// SPDX-License-Identifier: BSD-3-Clause
// The packets of one direction of a link, from the oldest that the peer has not acknowledged to the youngest taken:
// what a lost connection may have swallowed is written again from here.
//
//     acknowledged, forgotten | written, not acknowledged | waiting to be written |
//                           begin                      written                   end
//
// Positions count the bytes of all packets that were ever copied here; the bytes between begin and end lie in one piece
// of memory. Small packets are put together here, where they would be put together anyway, so keeping them costs
// nothing. The payload of a large one stays where it is, in its owner's memory ("bulk"), and stands in the stream
// behind its header; its owner is told when it is acknowledged.
//
// Memory: kMost bytes of copies and kMostPackets packets at most (a single packet beyond kMost where kLeft bytes at
// most are kept); beyond that nothing is taken until the peer acknowledges. It begins with kFirst bytes, and as soon as
// everything is acknowledged it starts over at its warm beginning. What it has grown to goes back to the system when
// the link has been idle (release). Knows no socket.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/packet/packet.hpp"
#include "base/packet/request.hpp"
#include "tcp/memory.hpp"
#include "tcp/received.hpp"

namespace rmq::tcp {

class Journal {
 public:
  static constexpr std::size_t kFirst = 64 * 1024;
  static constexpr std::size_t kMost = 512 * 1024;
  /// More than a peer that says nothing else leaves unacknowledged (twice Inbox's kAckEvery, and a payload).
  static constexpr std::size_t kLeft = 288 * 1024;
  /// Headers travel with the lower 16 bits of a number: so many packets that an old one is told from a new one.
  static constexpr std::uint32_t kMostPackets = 16 * 1024;
  static_assert(kMostPackets < 32 * 1024);
  static constexpr std::size_t kScratch = 64 * 1024;  // bytes packed at once, see gather()

  /// Whether a packet of so many copied bytes may be added now. `seen`: the lower bits of the latest acknowledgement.
  bool takes(std::size_t bytes, std::uint16_t seen) {
    if (seen == static_cast<std::uint16_t>(sent_) && bulks_.empty() && written_ == end_) [[likely]] {
      acked_ = sent_;
      begin_ = base_ = end_;
      return true;
    }
    return has_room(bytes, seen);
  }

  /// Where the next packet's copied bytes go, add() of at most so many follows; valid until then.
  std::byte* next(std::size_t bytes) {
    if (capacity() - static_cast<std::size_t>(end_ - base_) < bytes) [[unlikely]]
      make_room(bytes);
    return place(end_);
  }
  /// The number that the next packet carries.
  std::uint32_t next_number() const { return sent_ + 1; }
  /// The packet whose copied bytes have been put at next() is the youngest now, and waits to be written.
  void add(std::size_t bytes) {
    end_ += bytes;
    ++sent_;
  }
  /// The same, with a payload that stays where it is until `owner` is told.
  void add(std::size_t bytes, const Payload& payload, Request* owner);

  /// All that was added has been written, for who has seen to that himself.
  void wrote_all() { written_ = end_; }
  /// Nothing waits to be written.
  bool is_written() const { return written_ == end_ && bulks_waiting_ == 0; }
  /// Bytes that wait: copied ones; all.
  std::size_t waiting_copies() const { return static_cast<std::size_t>(end_ - written_); }
  std::uint64_t waiting_bytes() const;
  bool bulk_waits() const { return bulks_waiting_ != 0; }

  /// The waiting bytes, in the order of the stream, as far as `pieces` suffice; `covered` receives how many bytes those
  /// are. Payloads that lie in tiny pieces are packed into `scratch` first, which ends the list.
  std::size_t gather(std::span<iovec> pieces, std::unique_ptr<std::byte[]>& scratch, std::size_t& covered) const;
  /// So many of the waiting bytes have been written.
  void written(std::size_t bytes);

  /// The peer has received the packets up to the one whose number ends in `seen`. What no packet here fits is old, or
  /// nonsense, and changes nothing. Owners whose payload is through are added to `told`.
  void acknowledge(std::uint16_t seen, std::vector<Request*>& told);
  /// Bulk waits for an acknowledgement.
  bool owes_owners() const { return !bulks_.empty(); }
  /// Everything that was taken has been acknowledged.
  bool is_empty() const { return acked_ == sent_; }

  /// A new connection: the peer has received the packets up to this number, all behind them wait to be written again,
  /// and tell it `tell`, the lower bits of what has been received from it by now: the number that they told when they
  /// were new may be so old that it means a later one. False when that cannot be: the peer has acknowledged more
  /// already, or was never sent so many.
  bool rewind(std::uint32_t received, std::uint16_t tell, std::vector<Request*>& told);
  /// Behind rewind(): the peer has so many bytes of the payload of the first packet that waits, so they are not written
  /// again. Returns that packet's header, which is to be written before everything else; valid until the next add().
  /// Nothing when there is no such payload.
  std::span<const std::byte> pass_over(std::uint32_t landed);

  /// Forgets everything; the owners are added to `told`.
  void clear(std::vector<Request*>& told);
  /// Gives the memory back, but for what is not acknowledged.
  void release();
  /// Bytes of memory.
  std::size_t capacity() const { return memory_.size(); }
  /// Whether it has grown, and needs that no longer.
  bool is_large() const { return capacity() > kFirst && 2 * static_cast<std::size_t>(end_ - begin_) < capacity(); }

 private:
  static constexpr std::size_t kTiny = 256;  // pieces of a payload smaller than this, on average, are packed

  struct Bulk {
    std::uint64_t at;      // position of the copied bytes behind it
    std::uint32_t number;  // of its packet
    Payload payload;
    Request* owner;
  };

  std::size_t next_bulk() const { return bulks_.size() - bulks_waiting_; }
  std::byte* place(std::uint64_t position) const { return memory_.data() + (position - base_); }
  bool has_room(std::size_t bytes, std::uint16_t seen);
  void make_room(std::size_t bytes);
  std::uint64_t behind(std::uint64_t position, bool bulk) const;
  void drop_to(std::uint32_t number, std::vector<Request*>& told);

  std::uint32_t sent_ = kBeforeFirst;   // number of the youngest packet; wraps, as the field on the wire does
  std::uint32_t acked_ = kBeforeFirst;  // number of the youngest packet that is acknowledged
  std::uint64_t base_ = 0;              // position of the buffer's first byte
  std::uint64_t begin_ = 0, written_ = 0, end_ = 0;
  Memory memory_;
  std::vector<Bulk> bulks_;        // of packets not acknowledged
  std::size_t bulks_waiting_ = 0;  // the last so many of them are not written to their end
  std::uint64_t bulk_done_ = 0;    // bytes of the first of those which are
};

}  // namespace rmq::tcp
