// The sending side of one connection: at most one write in flight, and what stands behind it.
//
//   buffer: packets that were copied  |  bulk: one large payload, still in the user's memory
//   ^ begin          ^ end               ^ offset         ^ end
//
// The buffer goes out first, then the bulk; while there is bulk, nothing is taken behind it. Header and payload leave
// in one gathered system call, straight from the user's memory; only tiny pieces of a non-contiguous payload (< 256
// bytes on average) are packed into the buffer first.
//
// What Outcome::done promises here: the packet is in the kernel, which delivers it whatever this process does next. A
// packet that merely waits in the buffer is `queued`, and its owner is told after the write. The exceptions are
// ownerless packets that meet a socket which has just become full, where what the kernel does not take is copied, and
// those that are gathered, which leave before the caller does anything else. So
// `retry` means that something is waiting to be written, and that the end of that wait wakes a sleeper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/packet.hpp"
#include "methods/method.hpp"

namespace rmq::tcp {

class Outbox {
 public:
  /// Packets up to this size, header included, may be coalesced; bytes.
  static constexpr std::size_t kSmall = 8 * 1024 + kCacheLine;

  /// As Method::send. `coalesce`: the packet may wait in the buffer for the next pump() or further packets (only with
  /// an owner, and only up to kSmall). `failed` only when the socket has an error; see error().
  methods::Outcome send(int fd, const Packet& packet, const Payload& payload, Request* owner, bool coalesce);

  /// As Method::gather: small packets wait in the buffer, with an owner or without, until it is switched off, which
  /// writes them. What a full socket does not take then stays, and is blocked().
  void gather(int fd, bool on);

  /// Writes what waits, as far as the socket takes it, and tells the owners whose data is through. Returns how much
  /// happened. To be called from poll() only.
  int pump(int fd, const methods::Sink& sink);

  /// Puts a LINK_CLOSE behind everything else. Later packets are refused by the caller.
  void say_goodbye();

  /// Tells every owner that its data will not get through, and forgets all.
  void fail(const methods::Sink& sink, Errc error);

  /// Nothing waits to be written.
  bool empty() const { return begin_ == end_ && bulk_.left() == 0; }
  /// Nothing at all is left to do for pump().
  bool idle() const { return empty() && owners_.empty() && bulk_.owner == nullptr; }
  /// The socket did not take all of the last write: it is worth watching for writability.
  bool blocked() const { return blocked_; }
  /// errno of the write that failed for good, or 0.
  int error() const { return error_; }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;     // first size of the buffer
  static constexpr std::size_t kCoalesced = 32 * 1024;  // from here on the buffer is written at once
  static constexpr std::size_t kInline = 512;           // packets up to this size go out as one piece
  static constexpr std::size_t kPieces = 128;           // of one gathered write
  static constexpr std::size_t kTiny = 256;             // pieces smaller than this, on average, are packed

  struct Bulk {
    DataView view;
    std::uint64_t offset = 0, end = 0;  // what remains, packed order
    Request* owner = nullptr;
    std::uint64_t left() const { return end - offset; }
  };

  methods::Outcome send_inline(int fd, Packet& packet, const Payload& payload, Request* owner);
  methods::Outcome send_gathered(int fd, const Packet& packet, const Payload& payload, Request* owner);
  void write_out(int fd);
  bool write_once(int fd);
  void append(const Packet& packet, const Payload& payload);
  std::byte* room(std::size_t bytes);
  void spill_bulk();
  std::size_t waiting() const { return end_ - begin_; }

  std::uint32_t sent_ = 0;  // number of the last packet taken; wraps, as the field on the wire does
  int error_ = 0;
  bool blocked_ = false;
  bool gathering_ = false;
  std::size_t begin_ = 0, end_ = 0;  // unsent bytes of the buffer
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  Bulk bulk_;
  std::vector<Request*> owners_;   // of packets in the buffer
  std::vector<Request*> telling_;  // the same, while they are told
};

}  // namespace rmq::tcp
