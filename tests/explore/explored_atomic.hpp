// SPDX-License-Identifier: BSD-3-Clause
// The twin of base/os/atomic.hpp for sources that are explored: same size, same names, each access told to the explorer
// with the place in the source where it stands.
#pragma once

#include <atomic>
#include <cstring>
#include <type_traits>

#include "tests/explore/explorer.hpp"

namespace rmq {
namespace explore {

/// Seams::wakes
bool wakes();

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The accesses to an object of type T at an address.
template <class T>
class Accesses {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  T load_at(const T* at, std::memory_order order, const Where& where) const {
    return from_bits<T>(explore::load(at, sizeof(T), order, where));
  }
  void store_at(T* at, T value, std::memory_order order, const Where& where) const {
    explore::store(at, sizeof(T), to_bits(value), order, where);
  }
  T update_at(T* at, Update what, T operand, std::memory_order order, const Where& where) const {
    return from_bits<T>(explore::update(at, sizeof(T), what, to_bits(operand), order, where));
  }
  bool compare_exchange_at(T* at, T& expected, T desired, std::memory_order success, std::memory_order failure,
                           const Where& where) const {
    std::uint64_t found = to_bits(expected);
    const bool done = explore::compare_exchange(at, sizeof(T), found, to_bits(desired), success, failure, where);
    expected = from_bits<T>(found);
    return done;
  }
};

}  // namespace explore

template <class T>
class Atomic : private explore::Accesses<T> {
  using Order = std::memory_order;
  using Where = explore::Where;

 public:
  static constexpr bool is_always_lock_free = true;

  constexpr Atomic() noexcept : value_{} {}
  constexpr Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order order, Where where = Where::current()) const { return this->load_at(&value_, order, where); }
  void store(T value, Order order, Where where = Where::current()) { this->store_at(&value_, value, order, where); }
  T exchange(T value, Order order, Where where = Where::current()) {
    return this->update_at(&value_, explore::Update::exchange, value, order, where);
  }
  T fetch_add(T value, Order order, Where where = Where::current()) {
    return this->update_at(&value_, explore::Update::add, value, order, where);
  }
  T fetch_sub(T value, Order order, Where where = Where::current()) {
    return this->update_at(&value_, explore::Update::subtract, value, order, where);
  }
  T fetch_and(T value, Order order, Where where = Where::current()) {
    return this->update_at(&value_, explore::Update::bit_and, value, order, where);
  }
  T fetch_or(T value, Order order, Where where = Where::current()) {
    return this->update_at(&value_, explore::Update::bit_or, value, order, where);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure, Where where = Where::current()) {
    return this->compare_exchange_at(&value_, expected, desired, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure, Where where = Where::current()) {
    return this->compare_exchange_at(&value_, expected, desired, success, failure, where);
  }

 private:
  T value_;
};

template <class T>
class AtomicRef : private explore::Accesses<T> {
  using Order = std::memory_order;
  using Where = explore::Where;

 public:
  explicit AtomicRef(T& object) : at_(&object) {}

  T load(Order order, Where where = Where::current()) const { return this->load_at(at_, order, where); }
  void store(T value, Order order, Where where = Where::current()) const { this->store_at(at_, value, order, where); }
  T exchange(T value, Order order, Where where = Where::current()) const {
    return this->update_at(at_, explore::Update::exchange, value, order, where);
  }
  T fetch_add(T value, Order order, Where where = Where::current()) const {
    return this->update_at(at_, explore::Update::add, value, order, where);
  }
  T fetch_and(T value, Order order, Where where = Where::current()) const {
    return this->update_at(at_, explore::Update::bit_and, value, order, where);
  }
  T fetch_or(T value, Order order, Where where = Where::current()) const {
    return this->update_at(at_, explore::Update::bit_or, value, order, where);
  }
  T fetch_xor(T value, Order order, Where where = Where::current()) const {
    return this->update_at(at_, explore::Update::bit_xor, value, order, where);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               Where where = Where::current()) const {
    return this->compare_exchange_at(at_, expected, desired, success, failure, where);
  }

 private:
  T* at_;
};

using Mutex = explore::Mutex;

namespace os {

inline void thread_fence(std::memory_order order, explore::Where where = explore::Where::current()) {
  explore::fence(order, where);
}
inline void compiler_fence(explore::Where where = explore::Where::current()) {
  explore::light_fence(where);
}
inline void writes_plain(const void* at) {
  explore::plain_write(at, "data");
}
inline void relax() {
  explore::pause();
}
inline void nap(long) {
  explore::nap();
}
inline void nap_while_set(const Atomic<std::uint32_t>&, long) {
  explore::nap();
}
inline void end_naps(Atomic<std::uint32_t>& word, explore::Where where = explore::Where::current()) {
  word.store(0, std::memory_order_relaxed, where);
}

/// See base/os/bunk.hpp.
class Bunk {
 public:
  void sleep(std::int64_t) { bell_.wait(); }
  void wake() {
    if (explore::wakes()) bell_.ring();
  }

 private:
  explore::Bell bell_;
};

}  // namespace os
}  // namespace rmq
