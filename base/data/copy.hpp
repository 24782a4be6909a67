// SPDX-License-Identifier: BSD-3-Clause
// Copying memory, and moving an address by bytes.
//
// glibc's memcpy uses REP MOVSB for cached copies from a few KB on. On AMD's cores that is an order of magnitude slow
// when the destination lies a few bytes past the source modulo a page (Zen 4: 3.5 GB/s, where an AVX2 loop gives 50).
// Intel's cores with the same glibc have no such cliff, and memcpy with its wider vectors beats an AVX2 loop at every
// size. So copy_bytes is memcpy, except in that corner on a CPU that is not Intel's. Figures: design/datatypes.md.
// Sanitizer builds always call memcpy, so that every access is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rmq {

namespace detail {
/// copy_bytes for n <= kTiny: without a call. Two moves that overlap cover any length between their size and twice
/// that.
[[gnu::always_inline]] inline void copy_tiny(std::byte* to, const std::byte* from, std::size_t n) {
  const auto two = [&]<class Word>(Word first) __attribute__((always_inline)) {
    Word last;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + n - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + n - sizeof last, &last, sizeof last);
  };
  struct Sixteen {
    std::uint64_t words[2];
  };
  if (n >= 16)
    two(Sixteen{});
  else if (n >= 8)
    two(std::uint64_t{});
  else if (n >= 4)
    two(std::uint32_t{});
  else if (n >= 2)
    two(std::uint16_t{});
  else if (n == 1)
    *to = *from;
}
inline constexpr std::size_t kTiny = 32;
/// copy_bytes for n > kInlineCopy.
void copy_bytes_large(void* to, const void* from, std::size_t n);
inline constexpr std::size_t kInlineCopy = 2048;  // bytes; up to here glibc uses vector moves on every CPU

/// Whether copy_avx2 may be called: the CPU has AVX2 and this is no sanitizer build.
bool have_copy_avx2();
/// The loop itself, for tests and benchmarks; n >= 256.
void copy_avx2(void* to, const void* from, std::size_t n);
}  // namespace detail

/// Copies n bytes between buffers that do not overlap. Either pointer may be null when n is 0. Any thread.
inline void copy_bytes(void* to, const void* from, std::size_t n) {
  if (n <= detail::kTiny) {
    detail::copy_tiny(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), n);
  } else if (n > detail::kInlineCopy) {
    detail::copy_bytes_large(to, from, n);
  } else {
    std::memcpy(to, from, n);
  }
}

/// The address `by` bytes from `base`. `base` may be no object at all: with MPI_BOTTOM it is null and the displacements
/// are addresses, where arithmetic on the pointer itself would be undefined.
inline std::byte* moved(std::byte* base, std::int64_t by) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address by definition
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(by));
}

}  // namespace rmq
