// SPDX-License-Identifier: BSD-3-Clause
// Tables with a place for every rank of a job, of which most are never looked at: memory that is all zero, and that the
// system gives page by page as it is written.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace rmq::os {

/// `bytes` zero bytes on a cache line. Long ones cost address space only, until they are written. Throws
/// std::bad_alloc.
void* take_zeros(std::size_t bytes);
void give_zeros(void* memory, std::size_t bytes);

/// `size` objects that begin as zero bytes, and for which no destructor needs to run.
template <class T>
class Zeros {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  Zeros() = default;
  explicit Zeros(int size)
      : bytes_(static_cast<std::size_t>(size) * sizeof(T)), data_(static_cast<T*>(take_zeros(bytes_))) {}
  Zeros(Zeros&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Zeros& operator=(Zeros&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Zeros() {
    if (data_) give_zeros(data_, bytes_);
  }

  T& operator[](int i) const { return data_[static_cast<std::size_t>(static_cast<unsigned>(i))]; }

 private:
  std::size_t bytes_ = 0;
  T* data_ = nullptr;
};

}  // namespace rmq::os
