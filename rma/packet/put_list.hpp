// SPDX-License-Identifier: BSD-3-Clause
// The payload of an RMA_PUT_LIST: puts one behind the other, each as
//
//    | offset, 8 bytes | length, 4 | data |
//
// without gaps, so nothing in it is aligned. Lengths are never 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace rmq::rma {

/// Bytes of a list, most, and what each put needs besides its data.
inline constexpr std::uint32_t kListMost = 8 * 1024;
inline constexpr std::uint32_t kPutHead = 12;
/// Data of a put, in bytes, up to which it may join a list.
inline constexpr std::uint64_t kListedMost = 512;

/// Writes a put to `at`, which has room for kPutHead + bytes.
inline void write_listed(std::byte* at, std::uint64_t offset, const void* from, std::uint32_t bytes) {
  std::memcpy(at, &offset, sizeof offset);
  std::memcpy(at + sizeof offset, &bytes, sizeof bytes);
  if (bytes == sizeof(std::uint64_t)) [[likely]]
    std::memcpy(at + kPutHead, from, sizeof(std::uint64_t));
  else
    std::memcpy(at + kPutHead, from, bytes);
}

struct Listed {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  const std::byte* data = nullptr;
};

/// Reads a list that may be anything.
class ListReader {
 public:
  ListReader(const std::byte* list, std::uint64_t bytes) : at_(list), left_(bytes) {}
  bool is_at_end() const { return left_ == 0; }
  /// The next put; none when what is left holds no whole one.
  std::optional<Listed> next() {
    Listed one;
    if (left_ < kPutHead) return std::nullopt;
    std::memcpy(&one.offset, at_, sizeof one.offset);
    std::memcpy(&one.bytes, at_ + sizeof one.offset, sizeof one.bytes);
    if (one.bytes == 0 || one.bytes > left_ - kPutHead) return std::nullopt;
    one.data = at_ + kPutHead;
    at_ += kPutHead + one.bytes;
    left_ -= kPutHead + one.bytes;
    return one;
  }

 private:
  const std::byte* at_;
  std::uint64_t left_;
};

}  // namespace rmq::rma
