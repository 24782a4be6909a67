#include "tcp/outbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "tcp/socket.hpp"

namespace rmq::tcp {

using methods::Outcome;

Outcome Outbox::send(int fd, const Packet& packet, const Payload& payload, Request* owner, bool coalesce) {
  if (error_ != 0) return Outcome::failed;
  const std::size_t total = wire_bytes(packet.kind) + payload.bytes;
  const bool fits = total <= kSmall && bulk_.left() == 0 && waiting() + total <= kCoalesced;
  Packet numbered = packet;
  numbered.link = sent_ + 1;
  if (fits && (owner != nullptr ? coalesce || blocked_ || gathering_ : gathering_ && !blocked_)) {
    append(numbered, payload);
    ++sent_;
    if (owner == nullptr) return Outcome::done;
    owners_.push_back(owner);
    return Outcome::queued;
  }
  if (blocked_) return Outcome::retry;
  if (empty() && total <= kInline && payload.is_contiguous()) return send_inline(fd, numbered, payload, owner);
  return send_gathered(fd, numbered, payload, owner);
}

// One piece on the stack: send() is cheaper than sendmsg() by more than the copy costs.
Outcome Outbox::send_inline(int fd, Packet& packet, const Payload& payload, Request* owner) {
  std::byte piece[kInline];
  const std::size_t head = wire_bytes(packet.kind);
  std::memcpy(piece, &packet, head);
  if (payload.bytes != 0) std::memcpy(piece + head, payload.data(), payload.bytes);
  const std::size_t total = head + payload.bytes;
  const Moved moved = write(fd, piece, total);
  if (moved.bytes == total) [[likely]] {
    ++sent_;
    return Outcome::done;
  }
  if (moved.error != 0 && moved.error != EAGAIN) {
    error_ = moved.error;
    return Outcome::failed;
  }
  blocked_ = true;
  std::memcpy(room(total - moved.bytes), piece + moved.bytes, total - moved.bytes);
  end_ += total - moved.bytes;
  ++sent_;
  if (owner == nullptr) return Outcome::done;
  owners_.push_back(owner);
  return Outcome::queued;
}

Outcome Outbox::send_gathered(int fd, const Packet& packet, const Payload& payload, Request* owner) {
  if (owner == nullptr && !empty()) {
    // What the kernel does not take of it has to be copied, so first see whether the way is free.
    write_out(fd);
    if (error_ != 0) return Outcome::failed;
    if (blocked_) return Outcome::retry;
  }
  append(packet, {});
  bulk_ = {payload.view, payload.offset, payload.offset + payload.bytes, nullptr};
  write_out(fd);
  if (error_ != 0) return Outcome::failed;
  ++sent_;
  if (empty()) return Outcome::done;
  if (owner == nullptr) {
    spill_bulk();
    return Outcome::done;
  }
  if (bulk_.left() != 0) {
    bulk_.owner = owner;
  } else {
    owners_.push_back(owner);
  }
  return Outcome::queued;
}

void Outbox::gather(int fd, bool on) {
  gathering_ = on;
  if (!on && !blocked_ && error_ == 0) write_out(fd);
}

int Outbox::pump(int fd, const methods::Sink& sink) {
  if (error_ != 0) return 0;
  int happened = 0;
  if (!empty()) {
    const std::size_t before = waiting() + bulk_.left();
    write_out(fd);
    if (waiting() + bulk_.left() != before) ++happened;
  }
  if (!empty() || error_ != 0) return happened;
  blocked_ = false;
  // The upcalls may send again, so everything is in order before the first of them.
  telling_.swap(owners_);
  if (Request* owner = std::exchange(bulk_.owner, nullptr)) telling_.push_back(owner);
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, Errc::ok);
  happened += static_cast<int>(telling_.size());
  telling_.clear();
  return happened;
}

void Outbox::say_goodbye() {
  if (bulk_.left() != 0) spill_bulk();
  append(Packet(Kind::LINK_CLOSE), {});
}

void Outbox::fail(const methods::Sink& sink, Errc error) {
  if (error_ == 0) error_ = ECONNRESET;
  begin_ = end_ = 0;
  telling_.swap(owners_);
  if (Request* owner = std::exchange(bulk_.owner, nullptr)) telling_.push_back(owner);
  bulk_ = {};
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, error);
  telling_.clear();
}

void Outbox::write_out(int fd) {
  blocked_ = false;
  while (!empty() && error_ == 0 && !blocked_) {
    if (!write_once(fd)) blocked_ = error_ == 0;
  }
}

// One system call. False when the socket takes no more.
bool Outbox::write_once(int fd) {
  std::array<iovec, kPieces + 1> pieces;
  std::size_t count = 0, asked = waiting();
  if (asked != 0) pieces[count++] = {buffer_.get() + begin_, asked};
  if (bulk_.left() != 0) {
    std::uint64_t covered = 0;
    const std::size_t more =
        iovecs(bulk_.view, bulk_.offset, bulk_.left(), std::span(pieces).subspan(count, kPieces), covered);
    if (more == 1 || covered >= more * kTiny) {
      count += more;
      asked += covered;
    } else if (waiting() < kBuffer / 2) {
      const std::size_t part = std::min<std::uint64_t>(bulk_.left(), kBuffer - waiting());
      pack(room(part), bulk_.view, bulk_.offset, part);
      end_ += part;
      bulk_.offset += part;
      asked = waiting();
      pieces[0] = {buffer_.get() + begin_, asked};
      count = 1;
    }
  }
  const Moved moved = write(fd, std::span(pieces).first(count));
  if (moved.error != 0 && moved.error != EAGAIN) error_ = moved.error;
  const std::size_t from_buffer = std::min(moved.bytes, waiting());
  begin_ += from_buffer;
  bulk_.offset += moved.bytes - from_buffer;
  if (begin_ == end_) begin_ = end_ = 0;
  return moved.bytes == asked;
}

void Outbox::append(const Packet& packet, const Payload& payload) {
  const std::size_t head = wire_bytes(packet.kind);
  std::byte* to = room(head + payload.bytes);
  std::memcpy(to, &packet, head);
  if (payload.bytes != 0) pack(to + head, payload.view, payload.offset, payload.bytes);
  end_ += head + payload.bytes;
}

// Where `bytes` more can be put; the caller moves end_.
std::byte* Outbox::room(std::size_t bytes) {
  if (capacity_ - end_ < bytes) {
    const std::size_t used = waiting();
    if (capacity_ < used + bytes) {
      const std::size_t larger = std::max(kBuffer, used + bytes);
      auto fresh = std::make_unique_for_overwrite<std::byte[]>(larger);
      if (used != 0) std::memcpy(fresh.get(), buffer_.get() + begin_, used);
      buffer_ = std::move(fresh);
      capacity_ = larger;
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, used);
    }
    begin_ = 0;
    end_ = used;
  }
  return buffer_.get() + end_;
}

// The rest of an ownerless payload: its memory may go away when send() returns.
void Outbox::spill_bulk() {
  const std::size_t rest = bulk_.left();
  pack(room(rest), bulk_.view, bulk_.offset, rest);
  end_ += rest;
  bulk_.offset = bulk_.end;
}

}  // namespace rmq::tcp
