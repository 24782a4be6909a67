#include "rma/attached.hpp"

#include <algorithm>
#include <iterator>

#include "rma/apply.hpp"

namespace rmq::rma {

bool Attached::add(void* memory, std::uint64_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) {
    empty_.insert(from);
    return true;
  }
  const auto above = regions_.upper_bound(from);
  if (above != regions_.end() && bytes > above->first - from) return false;
  if (above != regions_.begin()) {
    const auto below = std::prev(above);
    if (below->first == from || from - below->first < below->second) return false;
  }
  regions_.emplace(from, bytes);
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

bool Attached::covers(std::uint64_t from, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  auto block = regions_.upper_bound(from);
  if (block == regions_.begin()) return false;
  std::uint64_t reached = from;
  for (--block; block != regions_.end() && block->first <= reached; ++block) {
    reached = std::max<std::uint64_t>(reached, block->first + block->second);
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
