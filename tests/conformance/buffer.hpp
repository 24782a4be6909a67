// SPDX-License-Identifier: BSD-3-Clause
// User memory for tests: a message of known bytes in contiguous or scattered memory with guard bytes all around and in
// the gaps, so that a byte too many is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "methods/chance.hpp"

namespace rmq::testing {

/// How the bytes of a message lie in memory.
enum class Shape : std::uint8_t {
  contiguous,
  strided,  // equal blocks at equal distances, the last one perhaps shorter
  ragged,   // blocks and gaps of drawn lengths
};

/// The bytes of message `id`: any two messages of 8 bytes or more differ.
std::vector<std::byte> message_bytes(std::uint64_t id, std::size_t bytes);

class Buffer {
 public:
  /// Room for a message of `bytes`; ragged shapes draw from `seed`.
  Buffer(std::size_t bytes, Shape shape, std::uint64_t seed = 1);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&&) = default;

  const DataView& view() const { return view_; }
  const LayoutRef& layout() const { return layout_; }
  std::size_t bytes() const { return view_.bytes; }

  void fill(const std::vector<std::byte>& message);
  /// The first `bytes` of the message that lies here.
  std::vector<std::byte> take(std::size_t bytes) const;
  std::vector<std::byte> take() const { return take(view_.bytes); }
  /// Whether all memory but the first `bytes` of the message still holds the guard value.
  bool guards_hold(std::size_t bytes) const;

 private:
  std::vector<std::byte> memory_;
  std::vector<std::uint32_t> at_;  // for each byte of the message its place in memory_
  LayoutRef layout_;
  DataView view_;
};

}  // namespace rmq::testing
