// SPDX-License-Identifier: BSD-3-Clause
#include "shm/transfer.hpp"

#include <algorithm>

#include "base/data/copy.hpp"
#include "shm/single_copy.hpp"

namespace rmq::shm {
namespace {

constexpr std::uint64_t kBudget = 1024 * 1024;     // bytes in one poll, so that packets are not kept waiting
constexpr std::uint64_t kAloneChunk = 256 * 1024;  // bytes in one system call
constexpr std::uint64_t kLeastChunk = 4096;
// In TransferSlot::claim and ::helped.
constexpr std::uint64_t kChunks = 0x7fffffff;
constexpr std::uint64_t kHelpFailed = 0x80000000;  // one of them could not be copied

// Large chunks copy faster (each call costs 1.5 us, and both ends pin pages), small ones share better.
std::uint64_t chunk_for(std::uint64_t bytes) {
  const std::uint64_t share = bytes <= 1024 * 1024 ? bytes / 2 : bytes / 4;
  return std::clamp<std::uint64_t>((share + kLeastChunk - 1) / kLeastChunk * kLeastChunk, 64 * 1024, 512 * 1024);
}

std::uint64_t count_of(std::uint64_t bytes, std::uint64_t chunk) {
  return (bytes + chunk - 1) / chunk;
}

std::uint64_t generation_of(std::uint64_t word) {
  return word >> 32;
}

}  // namespace

Transfers::Failure Transfers::copy_piece(Transfer& t, std::uint64_t at, std::uint64_t bytes) {
  if ((t.address & kInSegment) != 0) {
    std::byte* there = directory_.segment().data() + (t.address & ~kInSegment) + at;
    if (t.put)
      pack(there, t.view, at, bytes);
    else
      unpack(t.view, at, there, bytes);
    return {};
  }
  const pid_t pid = directory_.control(t.peer).pid;
  const Copied copied =
      t.put ? copy_to(pid, t.address + at, t.view, at, bytes) : copy_from(pid, t.address + at, t.view, at, bytes);
  return {copied.error};
}

Transfers::Failure Transfers::run(Transfer& t) {
  Failure failure = copy_piece(t, t.moved, t.bytes - t.moved);
  if (failure.error == 0) t.moved = t.bytes;
  return failure;
}

int Transfers::advance(std::optional<std::uint32_t>& lost) {
  int pieces = 0;
  std::uint64_t budget = kBudget;
  // By index: on_moved may start transfers, which go to the end.
  for (std::size_t i = 0; i < queue_.size() && budget > 0;) {
    const Failure failure = step(queue_[i], budget, pieces);
    if (failure.is_loss()) {
      lost = queue_[i].peer;
      break;
    }
    const Transfer t = queue_[i];
    if (failure.error == 0 && t.moved < t.bytes) {
      ++i;
      continue;
    }
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
    sink_.on_moved(sink_.device, t.owner, t.moved, failure.error == 0 ? Errc::ok : Errc::system);
    ++pieces;
  }
  return pieces;
}

Transfers::Failure Transfers::step(Transfer& t, std::uint64_t& budget, int& pieces) {
  if (t.together || (t.moved == 0 && open_slot(t))) return step_together(t, budget, pieces);
  while (t.moved < t.bytes && budget > 0) {
    const std::uint64_t bytes = std::min(t.bytes - t.moved, kAloneChunk);
    const Failure failure = copy_piece(t, t.moved, bytes);
    if (failure.error != 0) return failure;
    t.moved += bytes;
    budget -= std::min(budget, bytes);
    ++pieces;
  }
  return {};
}

bool Transfers::open_slot(Transfer& t) {
  if (slot_open_ || t.alone || t.bytes < kTogether || !t.view.is_contiguous() || (t.address & kInSegment) != 0)
    return false;
  TransferSlot& s = slot();
  // Acquire pairs with take_helpers: whoever had this entry in its list has let go of it.
  const bool listed = s.listed.load(std::memory_order_acquire) != 0;
  // Relaxed here and below: SYNC POINT D orders the fields.
  if (listed && s.helper.load(std::memory_order_relaxed) != t.peer) return false;
  chunk_ = chunk_for(t.bytes);
  chunks_ = count_of(t.bytes, chunk_);
  s.helper.store(t.peer, std::memory_order_relaxed);
  s.put.store(t.put ? 1 : 0, std::memory_order_relaxed);
  s.active_at.store(reinterpret_cast<std::uintptr_t>(t.view.base), std::memory_order_relaxed);
  s.helper_at.store(t.address, std::memory_order_relaxed);
  s.bytes.store(t.bytes, std::memory_order_relaxed);
  s.chunk.store(chunk_, std::memory_order_relaxed);
  const std::uint64_t generation = std::uint64_t{++generation_} << 32;
  s.helped.store(generation, std::memory_order_relaxed);
  s.claim.store(generation | chunks_, std::memory_order_release);  // SYNC POINT D
  if (!listed) {
    s.listed.store(1, std::memory_order_relaxed);
    push_list(directory_.control(t.peer).helpers, s.next, directory_.me() + 1);
  }
  slot_open_ = t.together = true;
  copied_here_ = 0;
  all_claimed_ = false;
  return true;
}

// The number of a chunk for this side to copy; none when nothing is left.
std::optional<std::uint64_t> Transfers::claim_chunk() {
  TransferSlot& s = slot();
  // Relaxed: only the number matters, this side wrote the fields.
  std::uint64_t claim = s.claim.load(std::memory_order_relaxed);
  do {
    if ((claim & kChunks) == 0) return std::nullopt;
  } while (!s.claim.compare_exchange_weak(claim, claim - 1, std::memory_order_relaxed, std::memory_order_relaxed));
  return chunks_ - (claim & kChunks);
}

Transfers::Failure Transfers::step_together(Transfer& t, std::uint64_t& budget, int& pieces) {
  TransferSlot& s = slot();
  while (!all_claimed_ && budget > 0) {
    const std::optional<std::uint64_t> chunk = claim_chunk();
    all_claimed_ = !chunk;
    if (!chunk) break;
    const std::uint64_t at = *chunk * chunk_;
    const std::uint64_t bytes = std::min(chunk_, t.bytes - at);
    const Failure failure = copy_piece(t, at, bytes);
    if (failure.is_loss()) return failure;
    if (failure.error != 0) {
      // Nobody claims the rest. What the helper has claimed it may be copying still.
      t.alone = all_claimed_ = true;
      chunks_ -= s.claim.exchange(std::uint64_t{generation_} << 32, std::memory_order_relaxed) & kChunks;
    }
    ++copied_here_;
    ++pieces;
    budget -= std::min(budget, bytes);
  }
  if (!all_claimed_) return {};
  const std::uint64_t helped = s.helped.load(std::memory_order_acquire);  // SYNC POINT E
  if (copied_here_ + (helped & kChunks) < chunks_) return {};
  slot_open_ = t.together = false;
  // One of the two may not copy: do it all again without the helper.
  t.alone = t.alone || (helped & kHelpFailed) != 0;
  if (!t.alone) t.moved = t.bytes;
  return {};
}

void Transfers::take_helpers() {
  std::uint32_t id = take_list(directory_.mine().helpers);
  for (std::uint32_t n = 0; id != 0 && id <= directory_.map().shape().ranks && n < directory_.map().shape().ranks;
       ++n) {
    const std::uint32_t active = id - 1;
    TransferSlot& s = directory_.control(active).slot;
    id = s.next.load(std::memory_order_relaxed);   // relaxed: ordered by take_list
    s.listed.store(0, std::memory_order_release);  // pairs with open_slot: the entry may be used again
    if (std::find(helping_.begin(), helping_.end(), active) == helping_.end()) helping_.push_back(active);
  }
}

int Transfers::help() {
  // Relaxed: a look; take_list acquires.
  if (directory_.mine().helpers.load(std::memory_order_relaxed) != 0) take_helpers();
  int pieces = 0;
  std::erase_if(helping_, [&](std::uint32_t active) { return !help_one(active, pieces); });
  return pieces;
}

// Copies one chunk of the active rank's transfer; false when there is nothing left to help with.
bool Transfers::help_one(std::uint32_t active, int& pieces) {
  const RankControl& control = directory_.control(active);
  TransferSlot& s = directory_.control(active).slot;
  std::uint64_t claim = s.claim.load(std::memory_order_acquire);  // SYNC POINT D
  const std::uint64_t bytes = s.bytes.load(std::memory_order_relaxed);
  const std::uint64_t chunk = s.chunk.load(std::memory_order_relaxed);
  const std::uint64_t active_at = s.active_at.load(std::memory_order_relaxed);
  const std::uint64_t helper_at = s.helper_at.load(std::memory_order_relaxed);
  const bool put = s.put.load(std::memory_order_relaxed) != 0;
  if (s.helper.load(std::memory_order_relaxed) != directory_.me() || chunk < kLeastChunk) return false;
  const std::uint64_t left = claim & kChunks, chunks = count_of(bytes, chunk);
  if (left == 0 || left > chunks) return false;
  // Relaxed: success says that the word is still the one that was acquired above, so the fields are of its generation.
  const std::uint64_t claimed = claim - 1;
  if (!s.claim.compare_exchange_strong(claim, claimed, std::memory_order_relaxed, std::memory_order_relaxed))
    return true;
  const std::uint64_t at = (chunks - left) * chunk;
  const std::uint64_t size = std::min(chunk, bytes - at);
  const DataView here = DataView::contiguous(reinterpret_cast<const void*>(helper_at), bytes);
  const Copied copied = put ? copy_from(control.pid, active_at + at, here, at, size)
                            : copy_to(control.pid, active_at + at, here, at, size);
  std::uint64_t helped = s.helped.load(std::memory_order_relaxed);  // relaxed: only compared
  std::uint64_t more;
  do {
    if (generation_of(helped) != generation_of(claimed)) return false;  // the active rank has given up on this one
    more = (copied.error == 0 ? helped : helped | kHelpFailed) + 1;
  } while (!s.helped.compare_exchange_weak(helped, more, std::memory_order_release,
                                           std::memory_order_relaxed));  // SYNC POINT E
  ++pieces;
  return true;
}

void Transfers::drop(std::uint32_t peer) {
  std::erase(helping_, peer);
  for (std::size_t i = 0; i < queue_.size();) {
    if (queue_[i].peer != peer) {
      ++i;
      continue;
    }
    const Transfer dropped = queue_[i];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
    if (dropped.together) {
      // Nobody claims the rest. Relaxed: only the number counts.
      slot().claim.store(std::uint64_t{++generation_} << 32, std::memory_order_relaxed);
      slot_open_ = false;
    }
    sink_.on_moved(sink_.device, dropped.owner, dropped.moved, Errc::peer_lost);
  }
}

}  // namespace rmq::shm
