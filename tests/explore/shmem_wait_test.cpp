// SPDX-License-Identifier: BSD-3-Clause
// PEs that wait for what others change in their memory: shmem/waiters.hpp, with the device and the method of shared
// memory below it; the signals and fences by which data is handed on (shmem/atomics.hpp). Sleeps are for ever.
#include <memory>
#include <vector>

#include "engine/face/looks.hpp"
#include "shmem/atomics.hpp"
#include "shmem/waiters.hpp"
#include "tests/explore/check.hpp"
#include "tests/explore/pes.hpp"

namespace rmq::shmem {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

/// Words of PE 0, and data for which they stand.
struct Memory {
  explore::Pes pes;
  std::uint64_t words[2] = {};
  int data[2] = {};

  explicit Memory(int n, bool threads = false, bool asymmetric = true) : pes(n, threads, asymmetric) {}

  // What a put of a word is to those who look: rma::store_once stores it at once.
  void store(int word) { AtomicRef<std::uint64_t>(words[word]).store(1, std::memory_order_relaxed); }
  void put(int me, int word) {
    store(word);
    pes.changed(me, 0);
  }
  void put_data(int i) { explore::plain_write(&data[i], "data"); }
  // As put_signal does.
  template <Amo kOp>
  void put_signal(int me, int i, int word) {
    put_data(i);
    amo_near<kOp>(&words[word], std::uint64_t{1});
    pes.changed(me, 0);
  }
  void await(int word, std::uint64_t value) {
    pes.await(0, [=, this] { return look(&words[word]) == value; });
  }
  void read_data(int i) { explore::plain_read(&data[i], "data"); }
};

Program put(bool asymmetric = true) {
  auto m = std::make_shared<Memory>(2, false, asymmetric);
  return {{[=] { m->await(0, 1); }, [=] { m->put(1, 0); }}, {}};
}

// The look whether anybody waits comes too early.
Program put_late() {
  auto m = std::make_shared<Memory>(2);
  return {{[=] { m->await(0, 1); }, [=] { m->pes.changed(1, 0), m->store(0); }}, {}};
}

// A word that changes too early wakes it in vain.
Program put_two() {
  auto m = std::make_shared<Memory>(2);
  return {{[=] { m->await(1, 1); }, [=] { m->put(1, 0), m->put(1, 1); }}, {}};
}

// It waits once more, and another PE ends that.
Program wait_twice() {
  auto m = std::make_shared<Memory>(3);
  return {{[=] { m->await(0, 1), m->await(1, 1); }, [=] { m->put(1, 0); }, [=] { m->put(2, 1); }}, {}};
}

Program fence_between() {
  auto m = std::make_shared<Memory>(2);
  return {{[=] { m->await(0, 1), m->read_data(0); }, [=] { m->put_data(0), order_all(), m->put(1, 0); }}, {}};
}

template <Amo kOp>
Program signal() {
  auto m = std::make_shared<Memory>(2);
  return {{[=] { m->await(0, 1), m->read_data(0); }, [=] { m->put_signal<kOp>(1, 0, 0); }}, {}};
}

Program signals_that_add() {
  auto m = std::make_shared<Memory>(3);
  return {{[=] { m->await(0, 2), m->read_data(0), m->read_data(1); }, [=] { m->put_signal<Amo::add>(1, 0, 0); },
           [=] { m->put_signal<Amo::add>(2, 1, 0); }},
          {}};
}

// Two threads of PE 0 wait, each for its own word; all sleep on one doorbell.
Program two_threads() {
  auto m = std::make_shared<Memory>(2, true);
  return {{[=] { m->await(0, 1); }, [=] { m->await(1, 1); }, [=] { m->put(1, 0), m->put(1, 1); }}, {}};
}

// Both wait for the same word: one ring is for both.
Program two_threads_one_word() {
  auto m = std::make_shared<Memory>(2, true);
  return {{[=] { m->await(0, 1); }, [=] { m->await(0, 1); }, [=] { m->put(1, 0); }}, {}};
}

// The one who stores is a thread of the same PE.
Program own_thread(std::uint32_t mute = 0) {
  auto m = std::make_shared<Memory>(2, true);
  explore::seams().mute = mute;
  return {{[=] { m->await(0, 1); }, [=] { m->put(0, 0), m->await(1, 1); }, [=] { m->put(1, 1); }}, {}};
}

constexpr Bounds kBounds{.preemptions = 3, .stale = 3, .random = 3000};
constexpr Bounds kThree{.preemptions = 2, .stale = 2, .random = 3000};
constexpr Bounds kThreads{.preemptions = 1, .stale = 2, .random = 5000};

TEST(ShmemWait, NoPutIsSleptThrough) {
  explore::holds([] { return put(); }, kBounds);
  explore::holds([] { return put(false); }, kBounds);
  explore::holds(put_two, kBounds);
  explore::holds(wait_twice, kThree);
}

TEST(ShmemWait, WhoHasHeardASignalHasTheData) {
  explore::holds(signal<Amo::set>, kBounds);
  explore::holds(signal<Amo::add>, kBounds);
  explore::holds(signals_that_add, kThree);
  explore::holds(fence_between, kBounds);
}

TEST(ShmemWait, ThreadsThatSleepHearOfTheirWords) {
  explore::holds(two_threads, kThreads);
  explore::holds(two_threads_one_word, kThreads);
  explore::holds([] { return own_thread(); }, kThreads);
  EXPECT_TRUE(explore::explore([] { return own_thread(1u << 1); }, kThreads).failed);
}

TEST(ShmemWait, NeedsItsFencesAndOrders) {
  const Mutant sleeping[] = {
      {"waiters.hpp", "waiters_.fetch_add(1", Change::skipped},
      {"fence.hpp", "compiler_fence();", Change::skipped},
      {"seams.cpp", "explore::heavy_fence();", Change::skipped},
      {"method_poll.cpp", "control_->sleeping.store(1, std::memory_order_relaxed);", Change::skipped},
  };
  explore::kills(put_two, kBounds, sleeping);
  EXPECT_TRUE(explore::explore(put_late, kBounds).failed);
  const Mutant symmetric[] = {
      {"fence.hpp", "thread_fence(std::memory_order_seq_cst);", Change::skipped},
      {"seams.cpp", "thread_fence(std::memory_order_seq_cst);", Change::skipped},
  };
  explore::kills([] { return put(false); }, kBounds, symmetric);
  const Mutant set[] = {
      {"atomics.hpp", "word.store(v", Change::relaxed},
      {"atomics.hpp", "const_cast<T&>(*at)).load(", Change::relaxed},
  };
  explore::kills(signal<Amo::set>, kBounds, set);
  const Mutant add[] = {
      {"atomics.hpp", "word.fetch_add(v", Change::relaxed},
      {"atomics.hpp", "word.fetch_add(v", Change::torn},
  };
  explore::kills(signals_that_add, kThree, add);
  const Mutant fence[] = {
      {"atomics.hpp", "os::thread_fence(std::memory_order_seq_cst);", Change::skipped},
  };
  explore::kills(fence_between, kBounds, fence);
}

// ---- tests in a loop ----

constexpr std::uint32_t kEach = 4;  // looks a poll

// Two threads that test until one of them has polled: what they wait for comes by nothing else.
Program testing() {
  struct Shared {
    mpi::Looks looks;
    Atomic<bool> come{false};
    void test() {
      for (std::uint32_t tests = 0; !come.load(std::memory_order_relaxed); ++tests) {
        expect(tests < kEach * kEach, "somebody polls in time");
        if (looks.is_nth(kEach)) come.store(true, std::memory_order_relaxed);
      }
    }
  };
  auto s = std::make_shared<Shared>();
  return {{[=] { s->test(); }, [=] { s->test(); }}, {}};
}

TEST(ShmemTest, ALoopOfTestsPolls) {
  explore::holds(testing, {.preemptions = 3, .stale = 2, .random = 5000});
  const Mutant mutants[] = {{"looks.hpp", "looks_.store(now", Change::skipped}};
  explore::kills(testing, kBounds, mutants);
}

}  // namespace
}  // namespace rmq::shmem
