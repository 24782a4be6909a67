// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM's lock, shmem/queue_lock.hpp, by near atomics (shmem/atomics.hpp): PEs that spin, and PEs that sleep until
// they are woken (shmem/waiters.hpp).
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "shmem/atomics.hpp"
#include "shmem/queue_lock.hpp"
#include "tests/explore/check.hpp"
#include "tests/explore/pes.hpp"

namespace rmq::shmem {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

/// Bits that are not written, for mutants.
enum class Lost : std::uint8_t { nothing, next, turn };

/// The lock's copies, and what it guards.
struct Locked {
  struct alignas(kCacheLine) Copy {
    long lock = 0;
  };
  std::array<Copy, explore::Pes::kMost> copies;
  std::unique_ptr<explore::Pes> sleepers;  // null: they spin
  int data = 0;
  Lost lost = Lost::nothing;

  void touch() {
    explore::plain_write(&data, "data");
    explore::step("uses the data");
    explore::plain_write(&data, "data");
  }
};

/// How one PE reaches them: what shmem/api_sync.cpp has, where all are near.
struct Reach {
  Locked& locked;
  const int me;

  std::uint32_t* there(std::uint32_t* word, int pe) const { return word + (pe - me) * std::ptrdiff_t{kCacheLine / 4}; }
  void changed(int pe) const {
    if (locked.sleepers) locked.sleepers->changed(me, pe);
  }
  std::uint32_t swap(std::uint32_t* word, std::uint32_t value, int pe) const {
    const std::uint32_t before = amo_near<Amo::swap>(there(word, pe), value);
    changed(pe);
    return before;
  }
  std::uint32_t compare_swap(std::uint32_t* word, std::uint32_t cond, std::uint32_t value, int pe) const {
    const std::uint32_t before = compare_swap_near(there(word, pe), cond, value);
    changed(pe);
    return before;
  }
  void set_bits(std::uint32_t* word, std::uint32_t bits, int pe) const {
    if (locked.lost == (bits > explore::Pes::kMost ? Lost::turn : Lost::next)) return;
    amo_near<Amo::bor>(there(word, pe), bits);
    changed(pe);
  }
  template <class Done>
  void await(std::uint32_t*, Done&& done) const {
    if (locked.sleepers) return locked.sleepers->await(me, done);
    while (!done()) explore::pause();
  }
};

QueueLock<const Reach> lock_of(const Reach& reach, int home) {
  return {reach, &reach.locked.copies[static_cast<std::size_t>(reach.me)].lock, reach.me, home};
}

/// What each PE does: takes the lock by set ('s') or by tests ('t'), uses the data, clears it.
Program locked(std::vector<std::string> pes, int home, bool sleep = false, Lost lost = Lost::nothing) {
  auto shared = std::make_shared<Locked>();
  shared->lost = lost;
  if (sleep) shared->sleepers = std::make_unique<explore::Pes>(static_cast<int>(pes.size()));
  Program p;
  for (const std::string& steps : pes) {
    p.threads.emplace_back([=, me = static_cast<int>(p.threads.size())] {
      const Reach reach{*shared, me};
      auto lock = lock_of(reach, home);
      for (const char step : steps) {
        if (step == 's')
          lock.set();
        else
          while (!lock.test()) explore::pause();
        shared->touch();
        expect(lock.clear(), "it is held");
      }
    });
  }
  p.after = [=] {
    for (const Locked::Copy& copy : shared->copies) expect(copy.lock == 0, "nobody stands in line");
  };
  return p;
}

constexpr Bounds kSpinTwo{.preemptions = 3, .stale = 2, .random = 5000};
constexpr Bounds kSpinThree{.preemptions = 2, .stale = 2, .random = 5000};
constexpr Bounds kTwoSleep{.preemptions = 2, .stale = 1, .random = 2000};
constexpr Bounds kThreeSleep{.preemptions = 1, .stale = 1, .random = 3000};

TEST(ShmemLock, OneAtATime) {
  explore::holds([] { return locked({"ss", "ss"}, 0); }, kSpinTwo);
  explore::holds([] { return locked({"s", "s", "s"}, 1); }, kSpinThree);
  explore::holds([] { return locked({"ts", "st"}, 0); }, kSpinTwo);
  explore::holds([] { return locked({"t", "s", "s"}, 2); }, kSpinThree);
}

TEST(ShmemLock, WhoeverSleepsIsWoken) {
  explore::holds([] { return locked({"s", "s"}, 0, true); }, kTwoSleep);
  explore::holds([] { return locked({"ss", "ss"}, 1, true); }, kTwoSleep);
  explore::holds([] { return locked({"s", "s", "s"}, 0, true); }, kThreeSleep);
}

TEST(ShmemLock, IsNotClearedByWhoDoesNotHoldIt) {
  Locked shared;
  const Reach reach{shared, 0};
  EXPECT_FALSE(lock_of(reach, 0).clear());
}

TEST(ShmemLock, NeedsItsOrders) {
  const Mutant two[] = {
      {"atomics.hpp", "word.exchange(v", Change::relaxed},
      {"atomics.hpp", "word.exchange(v", Change::torn},
      {"atomics.hpp", "word.fetch_or(v", Change::relaxed},
      {"atomics.hpp", "word.compare_exchange_strong(found", Change::relaxed},
      {"atomics.hpp", "word.compare_exchange_strong(found", Change::torn},
      {"atomics.hpp", "word.compare_exchange_strong(found", Change::blind},
      {"atomics.hpp", "const_cast<T&>(*at)).load(", Change::relaxed},
      {"queue_lock.hpp", "AtomicRef<std::uint32_t>(*place_).store(0", Change::skipped},
  };
  explore::kills([] { return locked({"ss", "ss"}, 0); }, kSpinTwo, two);
  // The turn comes while somebody says that he is next.
  const Mutant three[] = {{"atomics.hpp", "word.fetch_or(v", Change::torn}};
  explore::kills([] { return locked({"s", "s", "s"}, 1); }, kSpinThree, three);
  const Mutant tests[] = {{"atomics.hpp", "word.compare_exchange_strong(found", Change::relaxed}};
  explore::kills([] { return locked({"t", "t"}, 0); }, kSpinTwo, tests);
  EXPECT_TRUE(explore::explore([] { return locked({"s", "s"}, 0, false, Lost::next); }, kSpinTwo).failed);
  EXPECT_TRUE(explore::explore([] { return locked({"s", "s"}, 0, false, Lost::turn); }, kSpinTwo).failed);
}

TEST(ShmemLock, NeedsItsRings) {
  const Mutant mutants[] = {
      {"waiters.hpp", "waiters_.fetch_add(1", Change::skipped},
      {"fence.hpp", "compiler_fence();", Change::skipped},
      {"seams.cpp", "explore::heavy_fence();", Change::skipped},
  };
  explore::kills([] { return locked({"s", "s"}, 0, true); }, kTwoSleep, mutants);
}

}  // namespace
}  // namespace rmq::shmem
