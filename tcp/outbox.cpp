// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/outbox.hpp"

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "tcp/socket.hpp"

namespace rmq::tcp {

using methods::Outcome;

Outcome Outbox::send(int fd, const Packet& packet, const Payload& payload, Request* owner, bool coalesce) {
  const std::size_t head = wire_bytes(packet.kind), total = head + payload.bytes;
  const bool idle = (blocked_ | gathering_ | owed_ | control_end_) == 0 && journal_.is_written();
  if (idle && !coalesce && total <= kInline && payload.is_contiguous()) [[likely]]
    return send_inline(fd, packet, head, payload, owner);
  const bool bulk = owner != nullptr && payload.bytes > kCopied;
  const std::size_t copied = bulk ? head : total;
  const bool small = total <= kSmall && !journal_.bulk_waits() && journal_.waiting_copies() + total <= kCoalesced;
  const bool waits = small && (owner != nullptr ? coalesce || blocked_ || gathering_ : gathering_ && !blocked_);
  if (blocked_ && !waits) return Outcome::retry;
  if (!journal_.takes(copied, in_.acknowledged())) [[unlikely]]
    return Outcome::retry;
  if (owner == nullptr && !waits && !empty()) {
    write_out(fd);
    if (blocked_) return Outcome::retry;
  }
  std::byte* const at = journal_.next(copied);
  std::memcpy(at, &packet, head);
  number(at);
  if (bulk) {
    journal_.add(head, payload, owner);
    write_out(fd);
    return Outcome::queued;
  }
  if (!waits) return send_now(fd, at, head, payload, owner);
  if (payload.bytes != 0) pack(at + head, payload.view, payload.offset, payload.bytes);
  journal_.add(total);
  if (owner == nullptr) return Outcome::done;
  owners_.push_back(owner);
  return Outcome::queued;
}

// The packet at `at` is the next one, and tells the peer what has been received.
void Outbox::number(std::byte* at) {
  const std::uint32_t link = journal_.next_number();
  const std::uint16_t received = in_.tell();
  std::memcpy(at + offsetof(Packet, link), &link, sizeof link);
  std::memcpy(at + offsetof(Packet, spare), &received, sizeof received);
}

// One piece from the journal, before which nothing waits: send() is cheaper than sendmsg() by more than the copy costs.
// The whole packet is copied, fields that the kind does not have included, because its size is known.
Outcome Outbox::send_inline(int fd, const Packet& packet, std::size_t head, const Payload& payload, Request* owner) {
  const std::size_t total = head + payload.bytes;
  if (!journal_.takes(total, in_.acknowledged())) [[unlikely]]
    return Outcome::retry;
  std::byte* const at = journal_.next(total + sizeof packet);
  std::memcpy(at, &packet, sizeof packet);
  number(at);
  if (payload.bytes != 0) copy_bytes(at + head, payload.data(), payload.bytes);
  const Moved moved = write(fd, at, total);
  journal_.add(total);
  if (moved.bytes == total) [[likely]] {
    journal_.wrote_all();
    return Outcome::done;
  }
  return rest(moved, owner);
}

// What is longer is copied behind the write, while it travels.
Outcome Outbox::send_now(int fd, std::byte* at, std::size_t head, const Payload& payload, Request* owner) {
  const std::size_t total = head + payload.bytes;
  const bool first = empty(), later = first && payload.is_contiguous() && payload.bytes != 0;
  const auto copy = [&] {
    if (payload.bytes != 0) pack(at + head, payload.view, payload.offset, payload.bytes);
  };
  if (later) {
    iovec pieces[2] = {{at, head}, {const_cast<std::byte*>(payload.data()), payload.bytes}};
    const Moved moved = write(fd, pieces);
    copy();
    journal_.add(total);
    return rest(moved, owner);
  }
  copy();
  journal_.add(total);
  write_out(fd);
  return rest({}, owner);
}

// So much of the packet that was added last has been written by now.
Outcome Outbox::rest(const Moved& moved, Request* owner) {
  journal_.written(moved.bytes);
  note(moved.error);
  if (journal_.is_written()) return Outcome::done;
  blocked_ = true;
  if (owner == nullptr) return Outcome::done;
  owners_.push_back(owner);
  return Outcome::queued;
}

void Outbox::note(int error) {
  if (error != 0 && error != EAGAIN) error_ = error;
}

void Outbox::gather(int fd, bool on) {
  gathering_ = on;
  if (!on && !blocked_) write_out(fd);
}

int Outbox::pump(int fd, const methods::Sink& sink) {
  if (error_ != 0) return 0;
  int happened = 0;
  if (!empty()) {
    const std::uint64_t before = journal_.waiting_bytes();
    write_out(fd);
    if (journal_.waiting_bytes() != before) ++happened;
  }
  if (!journal_.is_written() || error_ != 0) return happened;
  // The upcalls may send again, so everything is in order before the first of them.
  telling_.swap(owners_);
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, Errc::ok);
  happened += static_cast<int>(telling_.size());
  telling_.clear();
  return happened;
}

int Outbox::acknowledge(const methods::Sink& sink) {
  journal_.acknowledge(in_.acknowledged(), telling_);
  const auto told = static_cast<int>(telling_.size());
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, Errc::ok);
  telling_.clear();
  return told;
}

void Outbox::owe(Kind kind) {
  owed_ |= kind == Kind::LINK_ACK ? kAck : kind == Kind::LINK_PAUSE ? kPause : kClose;
}

void Outbox::disconnected() {
  owed_ = control_begin_ = control_end_ = 0;
  error_ = 0;
  blocked_ = true;  // until the next one
}

bool Outbox::resume(Received received, const methods::Sink& sink) {
  bool possible = journal_.rewind(received.number, static_cast<std::uint16_t>(in_.received()), telling_);
  if (possible && received.landed != 0) {
    const auto head = journal_.pass_over(received.landed);
    std::ranges::copy(head, control_.begin());
    control_end_ = static_cast<std::uint8_t>(head.size());
    possible = control_end_ != 0;
  }
  blocked_ = false;
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, Errc::ok);
  telling_.clear();
  return possible;
}

void Outbox::fail(const methods::Sink& sink, Errc error) {
  disconnected();
  error_ = ECONNRESET;
  telling_.swap(owners_);
  journal_.clear(telling_);
  for (Request* owner : telling_) sink.on_sent(sink.device, owner, error);
  telling_.clear();
}

void Outbox::write_out(int fd) {
  if (error_ != 0) return;
  blocked_ = false;
  while (!blocked_) {
    if (control_begin_ == control_end_ && journal_.is_written() && !put_control()) return;
    write_once(fd);
  }
}

// The LINK_* packets that are owed; nothing waits before them. False when there are none.
bool Outbox::put_control() {
  control_begin_ = control_end_ = 0;
  Packet ack(Kind::LINK_ACK), pause(Kind::LINK_PAUSE), close(Kind::LINK_CLOSE);
  ack.link_ack.received = pause.link_pause.received = close.link_close.received = in_.received();
  for (const auto& [bit, packet] : {std::pair{kAck, &ack}, {kPause, &pause}, {kClose, &close}}) {
    if ((owed_ & bit) == 0 || (bit == kAck && !in_.owes())) continue;
    const std::size_t bytes = wire_bytes(packet->kind);
    std::memcpy(control_.data() + control_end_, packet, bytes);
    control_end_ = static_cast<std::uint8_t>(control_end_ + bytes);
    in_.tell_alone();
  }
  owed_ = 0;
  return control_end_ != 0;
}

// One system call. What the socket does not take makes it blocked.
void Outbox::write_once(int fd) {
  std::array<iovec, kPieces + 1> pieces;
  std::size_t count = 0, covered = 0;
  const auto control = static_cast<std::size_t>(control_end_ - control_begin_);
  if (control != 0) pieces[count++] = {control_.data() + control_begin_, control};
  if (!journal_.is_written()) count += journal_.gather(std::span(pieces).subspan(count), scratch_, covered);
  const Moved moved = write(fd, std::span(pieces).first(count));
  note(moved.error);
  const std::size_t of_control = std::min(moved.bytes, control);
  control_begin_ = static_cast<std::uint8_t>(control_begin_ + of_control);
  if (control_begin_ == control_end_) control_begin_ = control_end_ = 0;
  if (moved.bytes != of_control) journal_.written(moved.bytes - of_control);
  blocked_ = moved.bytes != control + covered;
}

}  // namespace rmq::tcp
