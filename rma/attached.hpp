// The memory that this rank has attached to a dynamic window. Addresses are this process's own; sizes are bytes.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/layout.hpp"

namespace rmq::rma {

class Attached {
 public:
  /// False, and nothing is changed, when it overlaps what is attached.
  bool add(void* memory, std::uint64_t bytes);
  /// False when nothing is attached that begins there.
  bool remove(void* memory);
  /// Whether all of it is attached. Regions that touch are one region to whoever accesses them.
  bool covers(std::uint64_t from, std::uint64_t bytes) const;
  /// The same for `count` elements of `layout`, the first one's origin at that address.
  bool covers(const Layout& layout, std::uint64_t count, std::uint64_t origin) const;

 private:
  std::map<std::uintptr_t, std::uint64_t> regions_;  // address -> bytes
  std::multiset<std::uintptr_t> empty_;              // regions of no bytes: in nobody's way, only to be detached
};

}  // namespace rmq::rma
