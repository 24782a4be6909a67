#include "base/request_pool.hpp"

#include <cstdlib>

namespace rmq {

RequestPool::~RequestPool() {
  for (auto& slab : slabs_) {
    for (std::uint32_t i = 0; i < kSlab; ++i) std::free(slab[i].owned);
  }
}

void RequestPool::grow() {
  const std::uint32_t first = capacity();
  RMQ_CHECK(first < (1u << 26));  // mpi/ packs the index into 26 bits of a handle
  slabs_.push_back(std::make_unique<Request[]>(kSlab));
  Request* slab = slabs_.back().get();
  for (std::uint32_t i = kSlab; i-- > 0;) {
    slab[i].self = Handle{first + i, 0};
    slab[i].next = free_;
    free_ = &slab[i];
  }
}

void RequestPool::put(Request* r) {
  RMQ_CHECK(r->self.generation & 1);
  if (r->owned) {
    std::free(r->owned);
    r->owned = nullptr;
    r->owned_bytes = 0;
  }
  if (r->layout) r->layout = LayoutRef{};
  r->self.generation += 1;
  r->incomplete.store(0, std::memory_order_relaxed);  // nobody may look at a freed request
  r->kind = RequestKind::none;
  r->mode = SendMode::standard;
  r->dest_op = DestOp::copy;
  r->flags = 0;
  r->peer = kNoRank;
  r->moved = 0;
  r->status = Status{};
  r->on_complete = nullptr;
  r->user = nullptr;
  r->remote = 0;
  r->parts = 1;
  r->prev = nullptr;
  r->next = free_;
  free_ = r;
  --alive_;
}

}  // namespace rmq
