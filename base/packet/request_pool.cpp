// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/request_pool.hpp"

#include <cstdlib>

namespace rmq {

RequestPool::~RequestPool() {
  for (auto& slab : slabs_) {
    for (std::uint32_t i = 0; i < kSlab; ++i) std::free(slab[i].owned);
  }
}

void RequestPool::grow() {
  const std::uint32_t first = capacity();
  RMQ_CHECK(first < (1u << 26));  // far beyond what handles have bits for (engine/message/requests.hpp)
  slabs_.push_back(std::make_unique<Request[]>(kSlab));
  Request* slab = slabs_.back().get();
  for (std::uint32_t i = kSlab; i-- > 0;) {
    slab[i].self = Handle{first + i, 0};
    slab[i].next = free_;
    free_ = &slab[i];
  }
}

void RequestPool::drop_owned(Request* r) {
  std::free(r->owned);
  r->owned = nullptr;
  r->owned_bytes = 0;
  r->layout = LayoutRef{};
}

}  // namespace rmq
