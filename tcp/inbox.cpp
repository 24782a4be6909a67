// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/inbox.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace rmq::tcp {
namespace {

struct Known {
  bool kind[256] = {};
  constexpr Known() {
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) kind[number] = true;
#define RMQ_PACKET_FIELD(type, name, meaning)
#define RMQ_PACKET_END(KIND, member)
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
  }
};
constexpr Known kKnown;

// Packets of the link itself are not numbered and never reach the device.
constexpr bool is_link_kind(std::uint8_t kind) {
  return kind >= 32 && kind <= 47;
}

}  // namespace

Arrival Inbox::receive(int fd, Rank from, const methods::Sink& sink) {
  Arrival arrival;
  if (!buffer_) borrow_buffer();
  for (std::size_t taken = 0; taken < kBudget;) {
    const Read read = landing_under_way_ ? read_landing(fd) : read_buffer(fd, window_);
    if (read.moved.bytes == 0) {
      arrival.ended = read.moved.ended;
      if (read.moved.error != EAGAIN) arrival.error = read.moved.error;
      break;
    }
    taken += read.moved.bytes;
    fresh_ += read.moved.bytes;
    cut(from, sink, arrival);
    if (arrival.trouble != nullptr || read.moved.bytes < read.asked) break;
    // More is there than one reading ahead holds, and it is not a large payload.
    if (!landing_under_way_) window_ = kBuffer;
  }
  if (buffers_ != nullptr && begin_ == end_ && !landing_under_way_) return_buffer();
  return arrival;
}

void Inbox::borrow_buffer() {
  buffer_ = buffers_ != nullptr ? buffers_->take() : std::make_unique_for_overwrite<std::byte[]>(kBuffer);
}

void Inbox::return_buffer() {
  if (buffers_ != nullptr && buffer_) return buffers_->give(std::move(buffer_));
  buffer_.reset();
}

Inbox::Read Inbox::read_buffer(int fd, std::size_t most) {
  if (begin_ != 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t asked = std::min(most, kBuffer - end_);
  const Moved moved = read(fd, buffer_.get() + end_, asked);
  end_ += moved.bytes;
  return {moved, asked};
}

// The buffer is empty here: what it held of the payload has landed.
Inbox::Read Inbox::read_landing(int fd) {
  const std::uint64_t left = packet_.length - landed_;
  if (landed_ >= wanted()) return read_buffer(fd, std::min<std::uint64_t>(left, kBuffer));
  const std::uint64_t room = wanted() - landed_;
  std::array<iovec, kPieces + 1> pieces;
  std::uint64_t covered = 0;
  std::size_t count = iovecs(landing_.into, landing_.offset + landed_, room, std::span(pieces).first(kPieces), covered);
  if (count > 1 && covered < count * kTiny) return read_buffer(fd, std::min<std::uint64_t>(left, kBuffer));
  std::size_t asked = covered;
  if (covered == left) {
    pieces[count++] = {buffer_.get(), kAhead};
    asked += kAhead;
  }
  const Moved moved = read(fd, std::span(pieces).first(count));
  const std::size_t direct = std::min<std::uint64_t>(moved.bytes, covered);
  landed_ += direct;
  begin_ = 0;
  end_ = moved.bytes - direct;
  return {moved, asked};
}

void Inbox::cut(Rank from, const methods::Sink& sink, Arrival& arrival) {
  do {
    if (landing_under_way_) land_buffered(from, sink, arrival);
    if (begin_ == end_) {
      begin_ = end_ = 0;
      return;
    }
  } while (!landing_under_way_ && cut_one(from, sink, arrival));
}

// One packet from the buffer: handed up, or its landing begun. False when there is no whole one.
bool Inbox::cut_one(Rank from, const methods::Sink& sink, Arrival& arrival) {
  const std::size_t there = end_ - begin_;
  if (there < kHeaderBytes) return false;
  const std::byte* at = buffer_.get() + begin_;
  const auto kind = static_cast<std::uint8_t>(at[offsetof(Packet, kind)]);
  if (!kKnown.kind[kind]) {
    arrival.trouble = "it sent a packet of unknown kind";
    return false;
  }
  const std::size_t head = wire_bytes(static_cast<Kind>(kind));
  if (there < head) return false;
  Packet packet;
  std::memcpy(&packet, at, head);
  if (packet.length > kLongestPayload) {
    arrival.trouble = "it sent a packet that is too long";
    return false;
  }
  if (is_link_kind(kind)) return link_packet(packet, arrival);
  const bool whole = there - head >= packet.length;
  if (!whole && packet.length < kLandFrom) return false;
  if (packet.link != received_ + 1) {
    arrival.trouble = "a packet is missing or came twice";
    return false;
  }
  acknowledged_ = std::exchange(packet.spare, std::uint16_t{0});
  begin_ += head;
  if (resuming_) [[unlikely]] {
    if (std::memcmp(&packet, &packet_, head) != 0) {
      arrival.trouble = "a packet that came twice is not the same";
      return false;
    }
    resuming_ = false;
    landing_under_way_ = true;
    return true;
  }
  if (whole) {
    ++received_;
    if (packet.length > kAckAtOnce) [[unlikely]]
      fresh_ = kAckEvery;
    begin_ += packet.length;
    ++arrival.events;
    sink.on_packet[kind](sink.device, from, packet, at + head);
    return true;
  }
  packet_ = packet;
  landing_ = sink.on_arriving(sink.device, from, packet);
  landed_ = 0;
  landing_under_way_ = true;
  ++arrival.events;
  return true;
}

bool Inbox::link_packet(const Packet& packet, Arrival& arrival) {
  std::uint32_t received = 0;
  if (packet.kind == Kind::LINK_ACK) {
    received = packet.link_ack.received;
  } else if (packet.kind == Kind::LINK_PAUSE) {
    received = packet.link_pause.received;
    arrival.pause = true;
  } else if (packet.kind == Kind::LINK_CLOSE) {
    received = packet.link_close.received;
    arrival.goodbye = true;
  } else {
    arrival.trouble = "it sent a packet that has no place here";
    return false;
  }
  if (packet.length != 0) {
    arrival.trouble = "it sent a packet that is too long";
    return false;
  }
  acknowledged_ = static_cast<std::uint16_t>(received);
  ++arrival.events;  // who waits for room in the journal tries again
  begin_ += wire_bytes(packet.kind);
  return true;
}

// Moves what the buffer holds of the payload to its place, and tells the device when all of it is there.
void Inbox::land_buffered(Rank from, const methods::Sink& sink, Arrival& arrival) {
  const std::size_t part = std::min<std::uint64_t>(end_ - begin_, packet_.length - landed_);
  if (part != 0) {
    if (landed_ < wanted()) {
      const std::uint64_t kept = std::min<std::uint64_t>(part, wanted() - landed_);
      unpack(landing_.into, landing_.offset + landed_, buffer_.get() + begin_, kept);
    }
    begin_ += part;
    landed_ += part;
  }
  if (landed_ < packet_.length) return;
  landing_under_way_ = false;
  window_ = kAhead;
  ++received_;
  if (packet_.length > kAckAtOnce) fresh_ = kAckEvery;
  ++arrival.events;
  sink.on_landed(sink.device, from, packet_, landing_, Errc::ok);
}

void Inbox::disconnected() {
  begin_ = end_ = 0;
  window_ = kBuffer;
  if (std::exchange(landing_under_way_, false)) resuming_ = true;
}

void Inbox::fail(Rank from, const methods::Sink& sink, Errc error) {
  disconnected();
  if (!std::exchange(resuming_, false)) return;
  sink.on_landed(sink.device, from, packet_, landing_, error);
}

}  // namespace rmq::tcp
