// SPDX-License-Identifier: BSD-3-Clause
// The memory that this rank has attached to a dynamic window. Others name it by this process's addresses, or by what it
// is given as its name when it is attached: then the same name may stand for other addresses elsewhere. Sizes are
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "base/data/layout.hpp"

namespace rmq::rma {

class Attached {
 public:
  /// False, and nothing is changed, when its name overlaps what is attached.
  bool add(void* memory, std::uint64_t bytes) { return add(memory, bytes, reinterpret_cast<std::uintptr_t>(memory)); }
  bool add(void* memory, std::uint64_t bytes, std::uint64_t name);
  /// Where what has this name lies; a name that nothing has is an address.
  std::byte* at(std::uint64_t name) const;
  /// False when nothing is attached by its address that begins there.
  bool remove(void* memory);
  /// Whether all of it is attached. Regions that touch, in names and memory, are one region to whoever accesses them.
  bool covers(std::uint64_t from, std::uint64_t bytes) const;
  /// The same for `bytes` bytes of data from the `at`-th on of `count` elements of `layout`, the first one's origin at
  /// that address: they may lie in several regions, and what is between them need not be attached.
  bool covers(const Layout& layout, std::uint64_t count, std::uint64_t origin, std::uint64_t at,
              std::uint64_t bytes) const;

 private:
  struct Region {
    std::uint64_t bytes;
    std::uint64_t address;
  };
  std::map<std::uint64_t, Region> regions_;  // by name
  std::multiset<std::uintptr_t> empty_;      // regions of no bytes: in nobody's way, only to be detached
};

}  // namespace rmq::rma
