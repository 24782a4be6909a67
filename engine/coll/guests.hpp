// SPDX-License-Identifier: BSD-3-Clause
// Who still looks into memory that one rank has lent to others of its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"

namespace rmq::adi {
class Device;
}

namespace rmq::mpi::coll {

/// Lies at the beginning of that memory.
struct alignas(kCacheLine) Guests {
  Atomic<std::uint32_t> left{0};

  /// This one will not look any more.
  void leave() { left.fetch_add(1, std::memory_order_release); }  // pairs with have_left()
  /// Whether all of so many have left: the memory is its owner's alone.
  bool have_left(int all) const { return left.load(std::memory_order_acquire) == static_cast<std::uint32_t>(all); }
};

/// Such memory of a job's ranks in this process (host_memory.hpp).
struct Lent {
  struct Memory {
    void* at;
    const Guests* guests;
    int users;
    adi::Device* owner;
  };
  std::vector<Memory> abandoned;  // nobody needs it, but guests may still look
  std::size_t in_use = 0;         // there is room for so many more above
};

}  // namespace rmq::mpi::coll
