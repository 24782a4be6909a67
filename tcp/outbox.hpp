// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a link: the journal of what the peer has not acknowledged, and the socket that it is written to.
//
// A small packet is put together in the journal and leaves from there by one send(). A larger one leaves by one
// gathered write, its payload straight from the user's memory, and is copied into the journal while it travels; beyond
// kCopied bytes a payload with an owner is not copied but stays in the user's memory, and the owner is told when the
// peer has acknowledged it. While something waits to be written, only small packets are taken behind it.
//
// What Outcome::done promises here: the packet is in the kernel, and in the journal in case the connection breaks. A
// packet that merely waits in the journal is `queued`, and its owner is told after the write. The exceptions are
// ownerless packets that meet a socket which has just become full, and those that are gathered, which leave before the
// caller does anything else. `retry` means that something is waiting to be written, or that the journal is full of what
// the peer has not acknowledged; the end of either wait wakes a sleeper.
//
// LINK_* packets are not numbered and not kept. They are written where nothing waits before them, with what is true
// then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/packet/packet.hpp"
#include "methods/method.hpp"
#include "tcp/inbox.hpp"
#include "tcp/journal.hpp"

namespace rmq::tcp {

class Outbox {
 public:
  /// Packets up to this size, header included, may be coalesced; bytes.
  static constexpr std::size_t kSmall = 8 * 1024 + kCacheLine;
  /// Payloads up to this size are copied; larger ones too if they have no owner. Bytes.
  static constexpr std::size_t kCopied = Inbox::kAckAtOnce;

  /// `in`: the other direction, whose packets carry acknowledgements for this one and the other way round.
  explicit Outbox(Inbox& in) : in_(in) {}

  /// As Method::send, but that it never fails. `coalesce`: the packet may wait in the journal for the next pump() or
  /// further packets (only with an owner, and only up to kSmall).
  methods::Outcome send(int fd, const Packet& packet, const Payload& payload, Request* owner, bool coalesce);

  /// As Method::gather: small packets wait in the journal, with an owner or without, until it is switched off, which
  /// writes them. What a full socket does not take then stays, and is blocked().
  void gather(int fd, bool on);

  /// Writes what waits, as far as the socket takes it, and tells the owners of what waited. Returns how much happened.
  /// To be called from poll() only.
  int pump(int fd, const methods::Sink& sink);

  /// Takes in what the peer has acknowledged, and tells owners. Returns how many. To be called from poll() only.
  int acknowledge(const methods::Sink& sink);

  /// A packet of the link that is to be written as soon as nothing waits before it: LINK_ACK (unless another packet
  /// tells the peer by then), LINK_PAUSE, LINK_CLOSE.
  void owe(Kind kind);

  /// The connection is no more; what is not acknowledged waits for the next one.
  void disconnected();
  /// There is a new one, whose other end has received so much. False when that cannot be.
  bool resume(Received received, const methods::Sink& sink);

  /// Tells every owner that its data will not get through, and forgets all.
  void fail(const methods::Sink& sink, Errc error);
  /// Gives memory back, but for what is not acknowledged. Only when idle().
  void release() { journal_.release(), scratch_.reset(); }
  /// Bytes that it has for what is on its way.
  std::size_t memory() const { return journal_.capacity() + (scratch_ ? Journal::kScratch : 0); }
  /// Whether that is worth it: there is more than a link begins with.
  bool is_large() const { return idle() && (journal_.is_large() || scratch_); }

  /// Nothing waits to be written.
  bool empty() const { return journal_.is_written() && owed_ == 0 && control_begin_ == control_end_; }
  /// Nothing at all is left to do for pump().
  bool idle() const { return empty() && owners_.empty(); }
  /// All packets have left, and the peer has acknowledged them.
  bool acknowledged() const { return journal_.is_empty() && owners_.empty(); }
  /// That, and there is nothing else to be written.
  bool settled() const { return idle() && journal_.is_empty(); }
  /// Owners wait for acknowledgements.
  bool owes_owners() const { return journal_.owes_owners(); }
  /// The socket did not take all of the last write: it is worth watching for writability.
  bool blocked() const { return blocked_; }
  /// errno of the write that failed for good, or 0. Then it is also blocked().
  int error() const { return error_; }

 private:
  static constexpr std::size_t kCoalesced = 32 * 1024;  // from here on what waits is written at once
  static constexpr std::size_t kInline = 512;           // packets up to this size go out as one piece
  static constexpr std::size_t kPieces = 128;           // of one gathered write
  enum Owed : std::uint8_t { kAck = 1, kPause = 2, kClose = 4 };

  void number(std::byte* at);
  methods::Outcome send_inline(int fd, const Packet& packet, std::size_t head, const Payload& payload, Request* owner);
  methods::Outcome send_now(int fd, std::byte* at, std::size_t head, const Payload& payload, Request* owner);
  methods::Outcome rest(const Moved& moved, Request* owner);
  void write_out(int fd);
  void write_once(int fd);
  bool put_control();
  void note(int error);

  Inbox& in_;
  Journal journal_;
  int error_ = 0;
  bool blocked_ = false;
  bool gathering_ = false;
  std::uint8_t owed_ = 0;                             // of Owed
  std::uint8_t control_begin_ = 0, control_end_ = 0;  // unsent bytes of control_
  std::array<std::byte, 3 * kCacheLine> control_;     // LINK_* packets that are being written
  std::unique_ptr<std::byte[]> scratch_;              // see Journal::gather
  std::vector<Request*> owners_;                      // of packets that wait
  std::vector<Request*> telling_;                     // who is being told
};

}  // namespace rmq::tcp
