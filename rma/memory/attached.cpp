// SPDX-License-Identifier: BSD-3-Clause
#include "rma/memory/attached.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "rma/memory/apply.hpp"

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

bool Attached::covers(const Layout& layout, std::uint64_t count, std::uint64_t origin, std::uint64_t from,
                      std::uint64_t bytes) const {
  const Span span = span_of(layout, count);
  const auto low = span.low + origin;
  if (span.length == 0) return true;
  if (low < 0 || low + span.length > INT64_MAX) return false;
  if (covers(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(span.length))) return true;
  // Piece by piece; each is found by its distance from the origin.
  std::byte* const here = at(origin);
  const DataView data = layout.view(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(origin)), count);
  std::array<iovec, 64> pieces;
  while (bytes > 0) {
    std::uint64_t covered = 0;
    const std::size_t n = iovecs(data, from, bytes, pieces, covered);
    if (covered == 0) return false;
    for (std::size_t i = 0; i < n; ++i) {
      const auto piece = reinterpret_cast<std::uintptr_t>(pieces[i].iov_base);
      if (!covers(piece, pieces[i].iov_len) || at(piece) != moved(here, static_cast<std::int64_t>(piece - origin)))
        return false;
    }
    from += covered;
    bytes -= covered;
  }
  return true;
}

}  // namespace rmq::rma
