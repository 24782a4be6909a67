// What a dynamic window is attached to.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/layout.hpp"

namespace rmq::rma {

class Attached {
 public:
  /// False when it overlaps what is attached; and when it is not attached.
  bool add(void* memory, std::uint64_t bytes);
  bool remove(void* memory);
  /// Whether all of these bytes are attached; neighbours that touch are one region to whoever accesses them.
  bool contains(std::uint64_t from, std::uint64_t bytes) const;
  /// The same of `count` elements of `layout`, the first one's origin at that address.
  bool contains(const Layout& layout, std::uint64_t count, std::uint64_t origin) const;

 private:
  std::map<std::uintptr_t, std::uint64_t> regions_;  // address -> bytes
  std::multiset<std::uintptr_t> empty_;              // of no bytes: in nobody's way, only to be detached
};

}  // namespace rmq::rma
