// SPDX-License-Identifier: BSD-3-Clause
// What near operations ask of the CPU: atomics on symmetric words, looks at them, and the fence. The words lie in
// memory of the program, as it has declared them.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/os/atomic.hpp"

namespace rmq::shmem {

enum class Amo : std::uint8_t { fetch, set, swap, add, band, bor, bxor };

template <class T>
using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// What was there before; of a set, nothing of use. Orders more than OpenSHMEM asks for, at no cost where the
/// instruction is locked anyway. Of these, release is what a signal hands on its data by, and acquire and release what
/// a lock hands on everything by.
template <Amo kOp, class T>
[[gnu::always_inline]] inline T amo_near(T* at, T value) {
  const AtomicRef<Word<T>> word(*reinterpret_cast<Word<T>*>(at));
  const auto v = std::bit_cast<Word<T>>(value);
  switch (kOp) {
    case Amo::fetch:
      return std::bit_cast<T>(word.load(std::memory_order_acquire));
    case Amo::set:
      word.store(v, std::memory_order_release);
      return value;
    case Amo::swap:
      return std::bit_cast<T>(word.exchange(v, std::memory_order_seq_cst));
    case Amo::add:
      return std::bit_cast<T>(word.fetch_add(v, std::memory_order_seq_cst));
    case Amo::band:
      return std::bit_cast<T>(word.fetch_and(v, std::memory_order_seq_cst));
    case Amo::bor:
      return std::bit_cast<T>(word.fetch_or(v, std::memory_order_seq_cst));
    case Amo::bxor:
      return std::bit_cast<T>(word.fetch_xor(v, std::memory_order_seq_cst));
  }
}

/// What was there before.
template <class T>
[[gnu::always_inline]] inline T compare_swap_near(T* at, T cond, T value) {
  const AtomicRef<Word<T>> word(*reinterpret_cast<Word<T>*>(at));
  auto found = std::bit_cast<Word<T>>(cond);
  word.compare_exchange_strong(found, std::bit_cast<Word<T>>(value), std::memory_order_seq_cst,
                               std::memory_order_seq_cst);
  return std::bit_cast<T>(found);
}

/// A look at a word of this PE's own memory. Acquire: pairs with the release of whoever has changed it, an atomic
/// operation, or a store behind order_all().
template <class T>
[[gnu::always_inline]] inline T look(const volatile T* at) {
  return AtomicRef<T>(const_cast<T&>(*at)).load(std::memory_order_acquire);
}

/// Everything that was stored directly is visible to all before what follows.
inline void order_all() {
  os::thread_fence(std::memory_order_seq_cst);
}

}  // namespace rmq::shmem
