// SPDX-License-Identifier: BSD-3-Clause
// MPICH's handle encoding: 2 bits how the object is stored, 4 bits what it is, 26 bits which one.
// All knowledge of the ABI's bit patterns sits here and in include/mpi.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.hpp"

namespace rmq::mpi {

enum class ObjectKind : std::uint32_t {
  comm = 1,
  group = 2,
  datatype = 3,
  errhandler = 5,
  op = 6,
  info = 7,
  win = 8,
  keyval = 9,
  request = 11,
  session = 14,
};

inline constexpr std::uint32_t kBuiltin = 1, kDynamic = 2;  // storage bits: 01 predefined, 10 made at run time

constexpr int make_handle(std::uint32_t storage, ObjectKind kind, std::uint32_t index) {
  return static_cast<int>((storage << 30) | (static_cast<std::uint32_t>(kind) << 26) | index);
}
constexpr std::uint32_t handle_storage(int h) {
  return static_cast<std::uint32_t>(h) >> 30;
}
constexpr ObjectKind handle_kind(int h) {
  return static_cast<ObjectKind>((static_cast<std::uint32_t>(h) >> 26) & 15u);
}
constexpr std::uint32_t handle_index(int h) {
  return static_cast<std::uint32_t>(h) & 0x3ffffffu;
}

/// Of a table that is touched with the device held.
struct NoMutex {
  void lock() {}
  void unlock() {}
};

/// The run-time objects of one kind. Owns them. A handle holds the slot and, above it, how often the slot had been used
/// before, modulo 16; a slot that was emptied rests until kResting others have been after it. So a handle of a dead
/// object is found out: it would take more than kResting * 16 objects of its kind, made and ended, until another one
/// has the same. `Mutex` guards the table, not the objects, where several threads come without holding the device.
template <class T, ObjectKind kKind, class Mutex = NoMutex>
class Table {
 public:
  /// Stores an object and sets its `handle`. The pointer is stable until remove(). Throws std::bad_alloc beyond 2^22
  /// objects.
  T* add(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t slot = take_slot();
    object->handle = make_handle(kDynamic, kKind, (uses_[slot].before << kSlotBits) | slot);
    slots_[slot] = std::move(object);
    return slots_[slot].get();
  }
  /// nullptr when the handle is no live run-time object of this kind.
  T* find(int h) const {
    const std::lock_guard lock(mutex_);
    const std::uint32_t slot = slot_of(h);
    if (slot >= slots_.size()) return nullptr;
    T* const object = slots_[slot].get();
    return object && object->handle == h ? object : nullptr;
  }
  /// Whether the handle may have been that of an object once.
  bool has_had(int h) const {
    const std::lock_guard lock(mutex_);
    return handle_storage(h) == kDynamic && handle_kind(h) == kKind && slot_of(h) < slots_.size();
  }
  void remove(T* object) { take(object).reset(); }
  /// Takes an object out: its handle is stale, the object lives on.
  std::unique_ptr<T> take(T* object) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t slot = slot_of(object->handle);
    rest(slot);
    return std::move(slots_[slot]);
  }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& s : slots_) {
      if (s) f(*s);
    }
  }
  /// Address of the array of objects: pointers to its begin and its end (base/record/debug_root.hpp).
  const void* slots_for_debugger() const { return &slots_; }

 private:
  static constexpr std::uint32_t kSlotBits = 22, kSlots = 1u << kSlotBits, kResting = 64;
  struct Use {
    std::uint32_t before;   // objects that the slot has had before the present one, modulo 16
    std::uint32_t resting;  // of an empty slot: the one that was emptied next
  };
  static std::uint32_t slot_of(int h) { return handle_index(h) & (kSlots - 1); }

  std::uint32_t take_slot() {
    if (resting_ <= kResting) {
      if (slots_.size() == kSlots) throw std::bad_alloc();
      slots_.emplace_back();
      uses_.push_back({0, 0});
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    --resting_;
    const std::uint32_t slot = oldest_;
    oldest_ = uses_[slot].resting;
    uses_[slot].before = (uses_[slot].before + 1) & 15u;
    return slot;
  }
  void rest(std::uint32_t slot) {
    (resting_++ == 0 ? oldest_ : uses_[newest_].resting) = slot;
    newest_ = slot;
  }

  std::vector<std::unique_ptr<T>> slots_;
  std::vector<Use> uses_;  // by slot
  std::uint32_t resting_ = 0, oldest_ = 0, newest_ = 0;
  [[no_unique_address]] mutable Mutex mutex_;
};

}  // namespace rmq::mpi
