// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/journal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rmq::tcp {

void Journal::add(std::size_t bytes, const Payload& payload, Request* owner) {
  add(bytes);
  bulks_.push_back({end_, sent_, payload, owner});
  ++bulks_waiting_;
}

std::uint64_t Journal::waiting_bytes() const {
  std::uint64_t sum = waiting_copies();
  for (std::size_t i = next_bulk(); i < bulks_.size(); ++i) sum += bulks_[i].payload.bytes;
  return sum - bulk_done_;
}

std::size_t Journal::gather(std::span<iovec> pieces, std::unique_ptr<std::byte[]>& scratch,
                            std::size_t& covered) const {
  std::size_t count = 0;
  covered = 0;
  std::uint64_t at = written_, done = bulk_done_;
  for (std::size_t bulk = next_bulk(); count < pieces.size(); ++bulk) {
    const std::uint64_t until = bulk < bulks_.size() ? bulks_[bulk].at : end_;
    if (until != at) {
      pieces[count++] = {place(at), static_cast<std::size_t>(until - at)};
      covered += until - at;
      at = until;
    }
    if (bulk == bulks_.size() || count == pieces.size()) break;
    const Payload& payload = bulks_[bulk].payload;
    const std::uint64_t left = payload.bytes - done;
    std::uint64_t part = 0;
    const std::size_t more = iovecs(payload.view, payload.offset + done, left, pieces.subspan(count), part);
    if (more > 1 && part < more * kTiny) {
      if (!scratch) scratch = std::make_unique_for_overwrite<std::byte[]>(kScratch);
      part = std::min<std::uint64_t>(left, kScratch);
      pack(scratch.get(), payload.view, payload.offset + done, part);
      pieces[count] = {scratch.get(), part};
      covered += part;
      return count + 1;
    }
    count += more;
    covered += part;
    if (part != left) break;
    done = 0;
  }
  return count;
}

void Journal::written(std::size_t bytes) {
  for (;;) {
    const std::uint64_t until = bulk_waits() ? bulks_[next_bulk()].at : end_;
    const std::uint64_t copied = std::min<std::uint64_t>(bytes, until - written_);
    written_ += copied;
    bytes -= copied;
    if (written_ != until || !bulk_waits()) return;
    const std::uint64_t part = std::min<std::uint64_t>(bytes, bulks_[next_bulk()].payload.bytes - bulk_done_);
    bulk_done_ += part;
    bytes -= part;
    if (bulk_done_ != bulks_[next_bulk()].payload.bytes) return;
    --bulks_waiting_;
    bulk_done_ = 0;
  }
}

// Where the next packet begins. Of one whose payload is bulk only the header is here.
std::uint64_t Journal::behind(std::uint64_t position, bool bulk) const {
  Kind kind;
  std::uint32_t length;
  std::memcpy(&kind, place(position) + offsetof(HeaderFields, kind), sizeof kind);
  std::memcpy(&length, place(position) + offsetof(HeaderFields, length), sizeof length);
  return position + wire_bytes(kind) + (bulk ? 0 : length);
}

// Drops packets up to this number, which stands between those acknowledged and those sent, as far as they are written:
// a peer that acknowledges what it cannot have got does no harm.
void Journal::drop_to(std::uint32_t number, std::vector<Request*>& told) {
  const std::size_t written = next_bulk();
  std::size_t through = 0;
  while (acked_ != number) {
    const bool bulk = through < bulks_.size() && bulks_[through].number == acked_ + 1;
    const std::uint64_t after = behind(begin_, bulk);
    if (after > written_ || (bulk && through == written)) break;
    if (bulk) told.push_back(bulks_[through++].owner);
    begin_ = after;
    ++acked_;
  }
  bulks_.erase(bulks_.begin(), bulks_.begin() + static_cast<std::ptrdiff_t>(through));
  if (begin_ == end_) base_ = end_;
}

void Journal::acknowledge(std::uint16_t seen, std::vector<Request*>& told) {
  const auto more = static_cast<std::uint16_t>(seen - static_cast<std::uint16_t>(acked_));
  if (more != 0 && more <= sent_ - acked_) drop_to(acked_ + more, told);
}

bool Journal::rewind(std::uint32_t received, std::uint16_t tell, std::vector<Request*>& told) {
  if (received - acked_ > sent_ - acked_) return false;
  drop_to(received, told);
  if (acked_ != received) return false;
  written_ = begin_;
  bulks_waiting_ = bulks_.size();
  bulk_done_ = 0;
  std::size_t bulk = 0;
  std::uint32_t number = acked_;
  for (std::uint64_t at = begin_; at != end_;) {
    std::memcpy(place(at) + offsetof(HeaderFields, spare), &tell, sizeof tell);
    const bool is_bulk = bulk < bulks_.size() && bulks_[bulk].number == number + 1;
    ++number;
    at = behind(at, is_bulk);
    bulk += is_bulk;
  }
  return true;
}

std::span<const std::byte> Journal::pass_over(std::uint32_t landed) {
  if (begin_ == end_) return {};
  const auto head = static_cast<std::size_t>(behind(begin_, true) - begin_);
  std::uint32_t length;
  std::memcpy(&length, place(begin_) + offsetof(HeaderFields, length), sizeof length);
  if (landed >= length) return {};
  written(head + landed);
  return {place(begin_), head};
}

void Journal::clear(std::vector<Request*>& told) {
  for (const Bulk& bulk : bulks_) told.push_back(bulk.owner);
  bulks_.clear();
  bulks_waiting_ = 0;
  bulk_done_ = 0;
  begin_ = written_ = base_ = end_;
  acked_ = sent_;
  release();
}

void Journal::release() {
  const auto kept = static_cast<std::size_t>(end_ - begin_);
  Memory fresh = kept != 0 ? Memory(kept) : Memory();
  if (kept != 0) std::memcpy(fresh.data(), place(begin_), kept);
  memory_ = std::move(fresh);
  base_ = begin_;
  bulks_.shrink_to_fit();
}

bool Journal::has_room(std::size_t bytes, std::uint16_t seen) {
  // The peer need not acknowledge the last kLeft bytes, so nothing may wait for that.
  const auto fits = [&] {
    const std::uint64_t kept = end_ - begin_;
    return (kept <= kLeft || kept + bytes <= kMost) && sent_ - acked_ < kMostPackets;
  };
  // What is acknowledged is dropped when the memory at hand is used up. Owners are told by acknowledge() only.
  if (capacity() - static_cast<std::size_t>(end_ - base_) < bytes || !fits()) {
    const auto more = static_cast<std::uint16_t>(seen - static_cast<std::uint16_t>(acked_));
    if (more != 0 && more <= sent_ - acked_ && bulks_.empty()) {
      std::vector<Request*> nobody;
      drop_to(acked_ + more, nobody);
    }
  }
  return fits();
}

// Moves what is kept to the front, as long as that is less than half of the memory, or into twice as much.
void Journal::make_room(std::size_t bytes) {
  const auto kept = static_cast<std::size_t>(end_ - begin_);
  const std::size_t needed = kept + bytes;
  if (capacity() != 0 && (needed * 2 <= capacity() || (capacity() >= 2 * kMost && needed <= capacity()))) {
    std::memmove(memory_.data(), place(begin_), kept);
  } else {
    std::size_t larger = std::max(kFirst, capacity());
    while (larger < needed * 2 && larger < 2 * kMost) larger *= 2;
    larger = std::max(larger, needed);
    Memory fresh(larger);
    if (kept != 0) std::memcpy(fresh.data(), place(begin_), kept);
    memory_ = std::move(fresh);
  }
  base_ = begin_;
}

}  // namespace rmq::tcp
