// SPDX-License-Identifier: BSD-3-Clause
// The lock of a window and the mutexes of its regions: rma/memory/rw_lock.hpp, rma/memory/regions.cpp.
#include <memory>
#include <vector>

#include "rma/memory/regions.hpp"
#include "rma/memory/rw_lock.hpp"
#include "tests/explore/check.hpp"

namespace rmq {

// What regions.cpp asks of the device, which none of these has.
bool adi::Core::is_gone(Rank) {
  return false;
}

namespace rma {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

// ---- the lock ----

constexpr LockType kRead = LockType::shared, kWrite = LockType::exclusive;

struct Locked {
  RwLock lock;
  Atomic<std::uint32_t> waiters{0};
  std::vector<explore::Bell> bells;
  int data = 0;

  void touch(LockType type) {
    if (type == LockType::exclusive)
      explore::plain_write(&data, "data");
    else
      explore::plain_read(&data, "data");
    explore::step("uses the data");
    if (type == LockType::exclusive)
      explore::plain_write(&data, "data");
    else
      explore::plain_read(&data, "data");
  }
  void spin(LockType type, bool joins = false) {
    LockPlace place;
    joins ? lock.join(place) : lock.begin(type, place);
    while (!lock.try_take(place)) explore::pause();
    touch(type);
    lock.release(place);
  }
  // A reader that loses its patience.
  void overtake() {
    LockPlace place;
    lock.begin(kRead, place);
    while (!lock.try_take(place) && !lock.overtake(place)) explore::pause();
    touch(kRead);
    lock.release(place);
  }
  // As Window does in rma/target/lock.cpp: who waits announces it, looks again, and sleeps.
  void sleep(LockType type) {
    const auto me = static_cast<std::size_t>(explore::me());
    LockPlace place;
    lock.begin(type, place);
    if (!lock.try_take(place)) {
      waiters.fetch_add(1, std::memory_order_seq_cst);
      while (!lock.try_take(place)) bells[me].wait();
      waiters.fetch_sub(1, std::memory_order_seq_cst);
    }
    touch(type);
    lock.release(place);
    if (waiters.load(std::memory_order_seq_cst) == 0) return;
    for (std::size_t i = 0; i < bells.size(); ++i) {
      if (i != me) bells[i].ring();
    }
  }
};

Program locked(std::vector<std::vector<LockType>> threads, bool sleep) {
  auto shared = std::make_shared<Locked>();
  shared->bells = std::vector<explore::Bell>(threads.size());
  Program p;
  for (const auto& types : threads) {
    p.threads.emplace_back([=] {
      for (const LockType type : types) sleep ? shared->sleep(type) : shared->spin(type);
    });
  }
  return p;
}

constexpr Bounds kLockBounds{.preemptions = 2, .stale = 2, .random = 3000};

TEST(RwLock, WritersExcludeAllInEveryInterleaving) {
  explore::holds([] { return locked({{kWrite}, {kWrite}, {kRead}}, false); }, kLockBounds);
  explore::holds([] { return locked({{kWrite}, {kRead}, {kRead}}, false); }, kLockBounds);
  explore::holds([] { return locked({{kWrite, kRead}, {kRead, kWrite}}, false); }, kLockBounds);
}

// A reader that joins (-), one that queues (r), one that queues and overtakes (o), and a writer.
Program joined(std::vector<std::string> threads) {
  auto shared = std::make_shared<Locked>();
  Program p;
  for (const std::string& steps : threads) {
    p.threads.emplace_back([=] {
      for (const char step : steps)
        step == 'o' ? shared->overtake() : shared->spin(step == 'w' ? kWrite : kRead, step == '-');
    });
  }
  return p;
}

TEST(RwLock, ReadersThatJoinExcludeWritersInEveryInterleaving) {
  explore::holds([] { return joined({"w", "-", "-"}); }, kLockBounds);
  explore::holds([] { return joined({"w", "r", "-"}); }, kLockBounds);
  explore::holds([] { return joined({"w-", "-w"}); }, kLockBounds);
  explore::holds([] { return joined({"ww", "r-"}); }, kLockBounds);
  explore::holds([] { return joined({"ww", "-r", "-"}); }, {.preemptions = 1, .stale = 2, .random = 3000});
}

TEST(RwLock, ReadersThatOvertakeExcludeWritersInEveryInterleaving) {
  explore::holds([] { return joined({"w", "o", "o"}); }, kLockBounds);
  explore::holds([] { return joined({"w", "r", "o"}); }, kLockBounds);
  explore::holds([] { return joined({"w", "-", "o"}); }, kLockBounds);
  explore::holds([] { return joined({"wo", "ow"}); }, kLockBounds);
  explore::holds([] { return joined({"ww", "ro", "o"}); }, {.preemptions = 1, .stale = 2, .random = 3000});
}

// Two readers, each of which goes only when the other has come, and a writer that may come between, so many times.
Program awaiting_each_other(int writes, bool overtakes = false) {
  auto shared = std::make_shared<Locked>();
  auto come = std::make_shared<Atomic<std::uint32_t>>(0u);
  Program p;
  for (int i = 0; i < 2; ++i) {
    p.threads.emplace_back([=] {
      LockPlace place;
      overtakes ? shared->lock.begin(kRead, place) : shared->lock.join(place);
      while (!shared->lock.try_take(place) && !(overtakes && shared->lock.overtake(place))) explore::pause();
      come->fetch_add(1, std::memory_order_seq_cst);
      while (come->load(std::memory_order_seq_cst) != 2) explore::pause();
      shared->lock.release(place);
    });
  }
  p.threads.emplace_back([=] {
    for (int i = 0; i < writes; ++i) shared->spin(kWrite);
  });
  return p;
}

TEST(RwLock, AReaderThatJoinsDoesNotWaitForAWriterThatWaits) {
  explore::holds([] { return awaiting_each_other(1); }, kLockBounds);
  explore::holds([] { return awaiting_each_other(2); }, kLockBounds);
  explore::holds([] { return awaiting_each_other(2, true); }, kLockBounds);
}

TEST(RwLock, WhoeverSleepsIsWoken) {
  explore::holds([] { return locked({{kWrite}, {kWrite}}, true); }, kLockBounds);
  explore::holds([] { return locked({{kWrite}, {kRead}}, true); }, kLockBounds);
  explore::holds(
      [] {
        return locked({{kWrite}, {kRead}, {kWrite}}, true);
      },
      {.preemptions = 1, .stale = 2, .random = 3000});
}

TEST(RwLock, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"rw_lock.hpp", "place.number = gate_of(readers_in_.fetch_add(kCame", Change::relaxed},
      {"rw_lock.hpp", "const std::uint64_t now = readers_in_.load(", Change::relaxed},
      {"rw_lock.hpp", "if (writers_out_.load(", Change::relaxed},
      {"rw_lock.hpp", "place.held = readers_out_.load(", Change::relaxed},
      {"rw_lock.hpp", "readers_out_.fetch_add(kReader", Change::relaxed},
      {"rw_lock.hpp", "readers_in_.fetch_and(~kGate", Change::relaxed},
      {"rw_lock.hpp", "writers_out_.exchange(place.number + 1", Change::relaxed},
      {"rw_lock.hpp", "place.number = writers_in_.fetch_add(1", Change::torn},
      {"rw_lock.hpp", "while (!readers_in_.compare_exchange_weak(in, shut", Change::torn},
  };
  explore::kills(
      [] {
        return locked({{kWrite, kRead}, {kRead, kWrite}}, false);
      },
      {.preemptions = 2, .stale = 2, .random = 20000}, mutants);
}

TEST(RwLock, NeedsTheOrdersOfJoining) {
  const Mutant mutants[] = {
      {"rw_lock.hpp", "if (!readers_in_.compare_exchange_weak(in, in + kCame", Change::relaxed},
      {"rw_lock.hpp", "if (!readers_in_.compare_exchange_weak(in, in + kCame", Change::torn},
  };
  explore::kills([] { return joined({"w-", "r-w"}); }, {.preemptions = 3, .stale = 2, .random = 20000}, mutants);
  const Mutant between[] = {
      {"rw_lock.hpp", "if (readers_out_.compare_exchange_weak(out, out - kReader", Change::torn},
      {"rw_lock.hpp", "std::uint32_t out = readers_out_.load(", Change::relaxed},
      {"rw_lock.hpp", "std::uint64_t in = readers_in_.load(std::memory_order_acquire)", Change::relaxed},
  };
  explore::kills([] { return joined({"r", "ww", "--"}); }, {.preemptions = 3, .stale = 3, .random = 60000}, between);
}

TEST(RwLock, NeedsTheOrdersOfOvertaking) {
  const Mutant mutants[] = {
      {"rw_lock.hpp", "} while (!readers_in_.compare_exchange_weak(in, in - kCame", Change::torn},
  };
  explore::kills([] { return joined({"w", "o-", "r"}); }, {.preemptions = 3, .stale = 2, .random = 20000}, mutants);
}

// ---- regions ----

struct Window {
  std::vector<std::byte> memory = std::vector<std::byte>(Control::bytes(3) + kCacheLine);
  Control* control;
  std::byte data[1024] = {};

  Window() {
    const auto at = (reinterpret_cast<std::uintptr_t>(memory.data()) + kCacheLine - 1) / kCacheLine * kCacheLine;
    control = Control::make(reinterpret_cast<void*>(at), 3);
  }
  // Elements of 8 bytes from `at` on, as an accumulate goes through them.
  void accumulate(int me, std::uint64_t at, std::uint64_t count) {
    Regions regions;
    regions.control = control;
    regions.base = data;
    regions.shift = 8;
    regions.me = me;
    RegionGuard guard(regions);
    while (count > 0) {
      std::uint64_t n = guard.cover(data + at, 8, count);
      count -= n;
      for (; n > 0; --n, at += 8) explore::plain_write(data + at, "element");
    }
  }
};

// Two ranks go over the border of two regions, one has an element that lies across it.
Program regions_program() {
  auto window = std::make_shared<Window>();
  return {
      {[=] { window->accumulate(0, 244, 3); }, [=] { window->accumulate(1, 252, 2), window->accumulate(1, 244, 1); },
       [=] { window->accumulate(2, 252, 1); }},
      {}};
}

TEST(Regions, ExcludeEachOtherInEveryInterleaving) {
  explore::holds(regions_program, kLockBounds);
}

TEST(Regions, NeedTheirOrders) {
  const Mutant mutants[] = {
      {"regions.cpp", "if (holder.compare_exchange_strong(expected, mine", Change::relaxed},
      {"regions.cpp", "if (holder.compare_exchange_strong(expected, mine", Change::torn},
      {"regions.cpp", "if (holder.compare_exchange_strong(expected, mine", Change::blind},
      {"regions.cpp", "holder.store(0", Change::relaxed},
      {"regions.cpp", "holder.store(0", Change::skipped},
  };
  explore::kills(regions_program, kLockBounds, mutants);
}

}  // namespace
}  // namespace rma
}  // namespace rmq
