// SPDX-License-Identifier: BSD-3-Clause
// Memory as C++ allows threads to see it, told operationally: each location has the history of its stores, and each
// thread a view, which says how old a store it may still read there.
//
//   - A load may read any store that its thread's view has not passed. Reading moves the view on: nobody reads
//   backwards.
//   - A store carries a view with it: its thread's whole view if it releases, else that of the latest release fence. A
//     load that acquires joins the view of the store that it reads; a relaxed one keeps it for an acquire fence.
//   - A read-modify-write reads the newest store, and hands on the view of that store (release sequence).
//   - A sequentially consistent fence joins its thread's view and that of all such fences before. Sequentially
//     consistent loads do not read past the latest such store of their location, and are no fences for others.
//   - The light and heavy halves of the asymmetric fence join each other's views, and light ones not one another's.
//   - Plain memory (plain_read, plain_write) is checked for data races by clocks that travel in the views.
//
// Stores enter the history as they are executed. So what is not shown is code that breaks only where a store takes
// effect before an earlier load of its own thread (load buffering), or where modification order differs from any order
// of execution.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace rmq::explore {

inline constexpr std::size_t kThreads = 6;
inline constexpr std::size_t kLocations = 128;

struct View {
  std::array<std::uint16_t, kLocations> seen{};  // by location: oldest store that may be read
  std::array<std::uint16_t, kThreads> clock{};   // by thread: what of it has happened before
  void join(const View& other);
};

struct Store {
  std::uint64_t value = 0;
  View view;  // what an acquiring reader learns
};

class Memory {
 public:
  /// Forgets everything: the next schedule begins.
  void reset();

  /// The location of an atomic object; its first store is what the memory holds now. Throws when there are too many.
  std::size_t location(const void* at, std::size_t bytes);
  const std::vector<Store>& history(std::size_t location) const { return histories_[location].stores; }

  /// Index of the oldest store that a load of that thread may read.
  std::size_t oldest(std::size_t thread, std::size_t location, std::memory_order order) const;
  /// Reads the store with that index.
  std::uint64_t read(std::size_t thread, std::size_t location, std::size_t index, std::memory_order order);
  /// Adds a store; `base` is the view that it hands on from the store that a read-modify-write has read.
  void write(std::size_t thread, std::size_t location, std::uint64_t value, std::memory_order order,
             const View* base = nullptr);
  void fence(std::size_t thread, std::memory_order order);
  void light_fence(std::size_t thread);
  void heavy_fence(std::size_t thread);

  /// What one thread hands to another outside of atomics (a kernel's object): as a release and an acquire.
  void release_into(std::size_t thread, View& object);
  void acquire_from(std::size_t thread, const View& object);

  /// Plain accesses of the object at `at`; false when they race with an earlier one.
  bool plain_read(std::size_t thread, const void* at);
  bool plain_write(std::size_t thread, const void* at);

 private:
  struct History {
    std::vector<Store> stores;
    std::size_t latest_sc = 0;  // index of the latest sequentially consistent store
  };
  struct Thread {
    View view;      // what it has seen
    View released;  // at its latest release fence
    View relaxed;   // views of what it read without acquiring
  };
  struct Plain {
    const void* at;
    std::size_t writer = 0;
    std::uint16_t written = 0;                   // clock of the writer; 0: never
    std::array<std::uint16_t, kThreads> read{};  // clocks of the readers
  };
  Plain& plain(const void* at);
  void tick(std::size_t thread);

  std::vector<const void*> addresses_;  // by location
  std::array<History, kLocations> histories_;
  std::array<Thread, kThreads> threads_;
  std::vector<Plain> plains_;
  View sc_, light_, heavy_;
};

}  // namespace rmq::explore
