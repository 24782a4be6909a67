// SPDX-License-Identifier: BSD-3-Clause
// Memory of links, which shall go back to the system when a link needs it no longer.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace rmq::tcp {

/// A piece of memory, with nothing in it. Large ones are mappings of their own: the heap would keep them.
class Memory {
 public:
  static constexpr std::size_t kMapped = 128 * 1024;  // from so many bytes on

  Memory() = default;
  /// Throws std::bad_alloc.
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::byte* data() const { return at_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Buffers of one size for whoever needs one for a moment; a few are kept for the next. With every message: inline.
class Buffers {
 public:
  explicit Buffers(std::size_t bytes) : bytes_(bytes) {}
  std::unique_ptr<std::byte[]> take() {
    return number_ > 0 ? std::move(kept_[--number_]) : std::make_unique_for_overwrite<std::byte[]>(bytes_);
  }
  void give(std::unique_ptr<std::byte[]> buffer) {
    if (number_ < kept_.size()) kept_[number_++] = std::move(buffer);
  }

 private:
  const std::size_t bytes_;
  std::size_t number_ = 0;  // of those that are kept
  std::array<std::unique_ptr<std::byte[]>, 4> kept_;
};

}  // namespace rmq::tcp
