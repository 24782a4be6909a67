// SPDX-License-Identifier: BSD-3-Clause
// The receiving side of one connection: cuts the stream into packets and hands them up.
//
// Small packets are read many at a time into a buffer and handed up in place. A large payload that is not complete in
// the buffer is asked for with on_arriving, and the rest is read straight into the memory it belongs to; what lies
// behind it in the stream (the next header) comes with the same system call. After such a payload only a little is read
// ahead, so that a stream of large messages is not copied through the buffer.
//
// It also keeps the numbers that acknowledgements are made of: what has been received here (told to the peer by each
// packet that goes to it, or by LINK_ACK), and what the peer says it has.
//
// When the connection breaks, everything up to the last whole packet stands, and what has landed of the payload of the
// next one: the rest comes by the next connection, behind that packet's header, and lands in the same place.
//
// Nothing that a peer sends is trusted: kinds, packet numbers and lengths are checked, and memory is never sized by
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/packet/packet.hpp"
#include "methods/method.hpp"
#include "tcp/journal.hpp"
#include "tcp/memory.hpp"
#include "tcp/received.hpp"
#include "tcp/socket.hpp"

namespace rmq::tcp {

/// What one receive() came to.
struct Arrival {
  int events = 0;                 // packets and landings
  bool pause = false;             // a LINK_PAUSE has come
  bool goodbye = false;           // a LINK_CLOSE has come
  bool ended = false;             // the stream is at its end
  int error = 0;                  // errno when the connection has failed
  const char* trouble = nullptr;  // the peer broke the protocol: how
};

class Inbox {
 public:
  /// A longer payload is acknowledged at once, because its owner waits for that; bytes.
  static constexpr std::size_t kAckAtOnce = 64 * 1024;

  /// No packet may claim a longer payload; bytes.
  static constexpr std::uint32_t kLongestPayload = 1u << 30;

  /// Takes in what is there, up to about a megabyte, and calls the sink. One system call when little has come.
  Arrival receive(int fd, Rank from, const methods::Sink& sink);

  /// Number of the last packet that has come, with all its payload.
  std::uint32_t received() const { return received_; }
  /// The same, and what has landed of the packet behind it. Only behind disconnected().
  Received standing() const { return {received_, resuming_ ? static_cast<std::uint32_t>(landed_) : 0}; }
  /// Lower bits of the number of the last packet that the peer says it has received.
  std::uint16_t acknowledged() const { return acknowledged_; }
  /// A packet that carries received() goes to the peer. Returns the lower bits of that number.
  std::uint16_t tell() {
    told_ = received_;
    fresh_ = 0;
    due_ = kAckEvery;
    return static_cast<std::uint16_t>(received_);
  }
  /// The same, of a LINK_* packet, behind which nothing else may go to the peer for long.
  void tell_alone() {
    tell();
    due_ = kAckSoon;
  }
  /// The peer has not been told of everything.
  bool owes() const { return told_ != received_; }
  /// … and that is due, though nothing goes to it anyway.
  bool ack_is_due() const { return fresh_ >= due_ && owes(); }

  /// The connection is no more. The next one begins behind standing().
  void disconnected();
  /// Gives memory back. Only behind disconnected().
  void release() { return_buffer(); }
  /// From now on buffers of kBuffer bytes come from there, and are had for no longer than something is in them.
  void share(Buffers& buffers) { buffers_ = &buffers; }
  static constexpr std::size_t kBuffer = 72 * 1024;  // a packet of eager_max and what belongs to it
  std::size_t memory() const { return buffer_ ? kBuffer : 0; }
  /// Much has come that the peer has not been told of, and keeps.
  bool owes_much() const { return fresh_ >= kOwedInQuiet && owes(); }

  /// Tells the device that a payload on its way will not come.
  void fail(Rank from, const methods::Sink& sink, Errc error);

 private:
  static constexpr std::size_t kAhead = 4 * 1024;     // read behind a large payload
  static constexpr std::size_t kLandFrom = 8 * 1024;  // smaller payloads wait in the buffer until they are complete
  static constexpr std::size_t kBudget = 1024 * 1024;
  // Far less than a journal holds. Where packets go both ways: more than two eager messages that pass each other, for
  // the next one tells it as well. Where they do not, the peer's journal stays in its cache if it is told soon.
  static constexpr std::size_t kAckEvery = 128 * 1024;
  static constexpr std::size_t kAckSoon = 64 * 1024;
  static constexpr std::size_t kOwedInQuiet = 16 * 1024;  // of a link that is idle
  static constexpr std::size_t kPieces = 128;
  static constexpr std::size_t kTiny = 256;  // pieces smaller than this, on average, are unpacked from the buffer

  struct Read {
    Moved moved;
    std::size_t asked = 0;
  };
  Read read_buffer(int fd, std::size_t most);
  Read read_landing(int fd);
  void borrow_buffer();
  void return_buffer();
  void cut(Rank from, const methods::Sink& sink, Arrival& arrival);
  bool cut_one(Rank from, const methods::Sink& sink, Arrival& arrival);
  bool link_packet(const Packet& packet, Arrival& arrival);
  void land_buffered(Rank from, const methods::Sink& sink, Arrival& arrival);
  std::uint64_t wanted() const { return std::min<std::uint64_t>(landing_.bytes, packet_.length); }

  std::uint32_t received_ = kBeforeFirst;               // number of the last packet; wraps
  std::uint32_t told_ = kBeforeFirst;                   // the same, as the peer knows it
  std::size_t fresh_ = 0;                               // bytes since then, about
  std::size_t due_ = kAckSoon;                          // how many of them the peer is told of at the latest
  std::uint16_t acknowledged_ = kBeforeFirst & 0xffff;  // of the packets that go the other way
  bool landing_under_way_ = false;
  bool resuming_ = false;            // the next packet is the one whose payload was landing when the connection broke
  std::size_t begin_ = 0, end_ = 0;  // unread bytes of the buffer
  std::size_t window_ = kBuffer;     // how much the next read into the buffer asks for
  Buffers* buffers_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;
  Packet packet_;             // whose payload is landing
  methods::Landing landing_;  // where
  std::uint64_t landed_ = 0;  // bytes of the payload that have been read, dropped ones included
};

}  // namespace rmq::tcp
