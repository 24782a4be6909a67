// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/copy.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RMQ_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RMQ_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(RMQ_SANITIZED)
#define RMQ_COPY_AVX2 1
#include <immintrin.h>
#endif

namespace rmq::detail {

#ifdef RMQ_COPY_AVX2

bool have_copy_avx2() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}

namespace {

#define RMQ_AVX2 __attribute__((target("avx2")))
RMQ_AVX2 inline __m256i load(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
RMQ_AVX2 inline void store(std::byte* at, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value);
}

// Where REP MOVSB falls off: (to - from) modulo a page, in bytes. Observed for 1-8; a line's worth costs nothing.
constexpr std::uintptr_t kPage = 4096;
constexpr std::uintptr_t kCliff = 64;
// Beyond the cache of a core glibc does not use REP MOVSB on AMD.
constexpr std::size_t kCliffMaxBytes = 1 << 20;

bool cpu_has_cliff() {
  static const bool has = have_copy_avx2() && !__builtin_cpu_is("intel");
  return has;
}

}  // namespace

RMQ_AVX2 void copy_avx2(void* to_void, const void* from_void, std::size_t n) {
  auto* to = static_cast<std::byte*>(to_void);
  const auto* from = static_cast<const std::byte*>(from_void);
  // The unaligned ends overlap the aligned middle; nothing is read after it may have been written.
  const __m256i head = load(from);
  const __m256i tail[4] = {load(from + n - 128), load(from + n - 96), load(from + n - 64), load(from + n - 32)};
  std::byte* const end = to + n;
  store(to, head);
  const std::size_t skip = 32 - (reinterpret_cast<std::uintptr_t>(to) & 31);
  to += skip;
  from += skip;
  for (std::size_t left = n - skip; left > 128; left -= 128, to += 128, from += 128) {
    const __m256i a = load(from);
    const __m256i b = load(from + 32);
    const __m256i c = load(from + 64);
    const __m256i d = load(from + 96);
    store(to, a);
    store(to + 32, b);
    store(to + 64, c);
    store(to + 96, d);
  }
  for (int i = 0; i < 4; ++i) store(end - 128 + 32 * i, tail[i]);
}

void copy_bytes_large(void* to, const void* from, std::size_t n) {
  const std::uintptr_t distance =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  if (distance - 1 < kCliff && n <= kCliffMaxBytes && cpu_has_cliff()) [[unlikely]] {
    copy_avx2(to, from, n);
  } else {
    std::memcpy(to, from, n);
  }
}

#else

bool have_copy_avx2() {
  return false;
}
void copy_avx2(void* to, const void* from, std::size_t n) {
  std::memcpy(to, from, n);
}
void copy_bytes_large(void* to, const void* from, std::size_t n) {
  std::memcpy(to, from, n);
}

#endif

}  // namespace rmq::detail
