#include "rma/attached.hpp"

#include <algorithm>
#include <iterator>

#include "rma/apply.hpp"

namespace rmq::rma {

bool Attached::add(void* memory, std::uint64_t bytes, std::uint64_t name) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) {
    empty_.insert(address);
    return true;
  }
  const auto above = regions_.upper_bound(name);
  if (above != regions_.end() && bytes > above->first - name) return false;
  if (above != regions_.begin()) {
    const auto below = std::prev(above);
    if (below->first == name || name - below->first < below->second.bytes) return false;
  }
  regions_.emplace(name, Region{bytes, address});
  return true;
}

bool Attached::remove(void* memory) {
  const auto from = reinterpret_cast<std::uintptr_t>(memory);
  if (regions_.erase(from) == 1) return true;
  const auto empty = empty_.find(from);
  if (empty == empty_.end()) return false;
  empty_.erase(empty);
  return true;
}

std::byte* Attached::at(std::uint64_t name) const {
  auto block = regions_.upper_bound(name);
  std::uint64_t address = name;
  if (block != regions_.begin() && name - (--block)->first < block->second.bytes)
    address = block->second.address + (name - block->first);
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

bool Attached::covers(std::uint64_t from, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  auto block = regions_.upper_bound(from);
  if (block == regions_.begin()) return false;
  std::uint64_t reached = from;
  const std::uint64_t shift = (--block)->second.address - block->first;
  for (; block != regions_.end() && block->first <= reached; ++block) {
    if (block->second.address - block->first != shift) return false;
    reached = std::max<std::uint64_t>(reached, block->first + block->second.bytes);
    if (reached - from >= bytes) return true;
  }
  return false;
}

bool Attached::covers(const Layout& layout, std::uint64_t count, std::uint64_t origin) const {
  const Span span = span_of(layout, count);
  const auto low = span.low + origin;
  return span.length == 0 || (low >= 0 && low + span.length <= INT64_MAX &&
                              covers(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(span.length)));
}

}  // namespace rmq::rma
