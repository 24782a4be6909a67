// SPDX-License-Identifier: BSD-3-Clause
// Where requests come from: slabs that grow and never shrink or move, a free list in last-in first-out order (the
// warmest first), and generation-checked look-up of handles that arrive on the wire.
//
// Not thread-safe: the device's lock guards it. get() allocates memory only when more requests are alive than ever
// before.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/packet/request.hpp"

namespace rmq {

class RequestPool {
 public:
  RequestPool() = default;
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;
  ~RequestPool();

  /// A fresh request; the caller owns it until put(). Panics only when 2^26 are alive.
  Request* get() {
    if (!free_) [[unlikely]]
      grow();
    Request* r = free_;
    free_ = r->next;
    r->next = nullptr;
    r->self.generation += 1;  // even to odd: alive
    ++alive_;
    return r;
  }

  /// The index of what get() returns next; UINT32_MAX where that needs memory first.
  std::uint32_t next_free() const { return free_ != nullptr ? free_->self.index : UINT32_MAX; }

  /// Gives a request back; frees what it owns. All handles to it become stale.
  void put(Request* r) {
    RMQ_CHECK(r->self.generation & 1);
    if (r->owned || r->layout) [[unlikely]]
      drop_owned(r);
    r->self.generation += 1;
    r->incomplete.store(0, std::memory_order_relaxed);  // nobody may look at a freed request
    r->kind = RequestKind::none;
    r->mode = SendMode::standard;
    r->dest_op = DestOp::copy;
    r->step = Step::idle;
    r->flags = 0;
    r->peer = kNoRank;
    r->parts = 1;
    r->status = Status{};
    r->on_complete = nullptr;
    r->user = nullptr;
    r->appended = {0};
    r->prev = nullptr;
    r->next = free_;
    free_ = r;
    --alive_;
  }

  /// The live request that a handle names, or nullptr: unknown, or reused since.
  Request* find(Handle h) const {
    if (h.index >= slabs_.size() * kSlab) [[unlikely]]
      return nullptr;
    Request* r = at(h.index);
    return (r->self.generation == h.generation && (h.generation & 1)) ? r : nullptr;
  }

  /// Slot without a generation check, for callers that keep index-only handles. Index must be below capacity().
  Request* at(std::uint32_t index) const { return &slabs_[index / kSlab][index % kSlab]; }

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(slabs_.size() * kSlab); }
  std::size_t alive() const { return alive_; }

  static constexpr std::uint32_t kSlab = 64;  // requests
  /// Address of the array of slabs: pointers to its begin and its end (base/record/debug_root.hpp).
  const void* slabs_for_debugger() const { return &slabs_; }

 private:
  void grow();
  static void drop_owned(Request* r);

  std::vector<std::unique_ptr<Request[]>> slabs_;
  Request* free_ = nullptr;
  std::size_t alive_ = 0;
};

}  // namespace rmq
