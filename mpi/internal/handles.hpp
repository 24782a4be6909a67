// MPICH's handle encoding: 2 bits how the object is stored, 4 bits what it is, 26 bits which one.
// All knowledge of the ABI's bit patterns sits here and in include/mpi.h.
#pragma once

#include <cstdint>
#include <memory>
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

/// The run-time objects of one kind. Owns them; a handle is stale as soon as its slot is empty.
template <class T, ObjectKind kKind>
class Table {
 public:
  /// Stores an object and sets its `handle`. The pointer is stable until remove().
  T* add(std::unique_ptr<T> object) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    object->handle = make_handle(kDynamic, kKind, slot);
    slots_[slot] = std::move(object);
    return slots_[slot].get();
  }
  /// nullptr when the handle is no live run-time object of this kind.
  T* find(int h) const {
    if (handle_storage(h) != kDynamic || handle_kind(h) != kKind || handle_index(h) >= slots_.size()) return nullptr;
    return slots_[handle_index(h)].get();
  }
  /// Whether the handle was that of an object once.
  bool has_had(int h) const {
    return handle_storage(h) == kDynamic && handle_kind(h) == kKind && handle_index(h) < slots_.size();
  }
  void remove(T* object) { take(object).reset(); }
  /// Takes an object out: its handle is stale, the object lives on.
  std::unique_ptr<T> take(T* object) {
    const std::uint32_t slot = handle_index(object->handle);
    free_.push_back(slot);
    return std::move(slots_[slot]);
  }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& s : slots_) {
      if (s) f(*s);
    }
  }
  /// Address of the array of objects: pointers to its begin and its end (base/debug_root.hpp).
  const void* slots_for_debugger() const { return &slots_; }

 private:
  std::vector<std::unique_ptr<T>> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace rmq::mpi
