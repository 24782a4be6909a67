// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// MPI_THREAD_MULTIPLE: threads work on one window in one epoch, each on its own part and all on one counter; each with
// a window of its own; one waits for a lock that another thread's messages make free; one flushes while another issues.
#include <chrono>
#include <thread>

#include "win_test.hpp"

namespace {

constexpr int kThreads = 4, kRounds = 200;

template <class F>
void in_threads(F&& f) {
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) threads.emplace_back([&f, id] { f(id); });
  for (std::thread& t : threads) t.join();
}

void one_window(int flavor) {
  const int other = 1 - check::rank();
  LongWindow w(flavor, kThreads + 1);
  MPI_Win_lock_all(0, w.win);
  in_threads([&](int id) {
    const long one = 1;
    for (long i = 1; i <= kRounds; ++i) {
      long seen = -1;
      MPI_Put(&i, 1, MPI_LONG, other, id, 1, MPI_LONG, w.win);
      MPI_Win_flush(other, w.win);
      MPI_Get(&seen, 1, MPI_LONG, other, id, 1, MPI_LONG, w.win);
      MPI_Accumulate(&one, 1, MPI_LONG, 0, kThreads, 1, MPI_LONG, MPI_SUM, w.win);
      MPI_Win_flush_all(w.win);
      CHECK(seen == i);
    }
  });
  MPI_Win_unlock_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) CHECK(w.memory[kThreads] == 2L * kThreads * kRounds);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Threads whose first operations on a target meet at its lock, which the target holds.
void first_of_epoch(int flavor) {
  LongWindow w(flavor, 1);
  for (int round = 1; round <= 5; ++round) {
    if (check::rank() == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
      MPI_Barrier(MPI_COMM_WORLD);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      w.memory[0] = round;
      MPI_Win_unlock(1, w.win);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, w.win);
      in_threads([&](int) {
        long seen = -1;
        MPI_Get(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w.win);
        MPI_Win_flush(1, w.win);
        CHECK(seen == round);
      });
      MPI_Win_unlock_all(w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void own_windows() {
  MPI_Comm comms[kThreads];
  for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  in_threads([&](int id) {
    const int me = check::rank(), other = 1 - me;
    for (int i = 0; i < 10; ++i) {
      LongWindow w(kFlavors[id % 2], 100, comms[id]);
      const std::vector<long> data(100, 10 * id + me);
      MPI_Win_fence(0, w.win);
      MPI_Put(data.data(), 100, MPI_LONG, other, 0, 100, MPI_LONG, w.win);
      MPI_Win_fence(0, w.win);
      CHECK(w.memory[0] == 10 * id + other && w.memory[99] == 10 * id + other);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
      MPI_Accumulate(data.data(), 1, MPI_LONG, 0, 5, 1, MPI_LONG, MPI_SUM, w.win);
      MPI_Win_unlock(0, w.win);
    }
  });
  for (MPI_Comm& c : comms) MPI_Comm_free(&c);
}

/// Rank 1 holds the lock until a message comes, which rank 0 sends while another of its threads waits for the lock.
void blocked_lock() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  if (check::rank() == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) {
    std::thread waiter([&] {
      const long value = 9;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
      MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w.win);
      MPI_Win_unlock(1, w.win);
    });
    MPI_Send(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    waiter.join();
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_unlock(1, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(check::rank() == 0 || w.memory[0] == 9);
}

/// A thread puts, and then waits for what another sends only after its flush.
void flush_beside_a_put(int flavor) {
  LongWindow w(flavor, 2);
  const int me = check::rank(), other = 1 - me;
  MPI_Win_lock_all(0, w.win);
  for (int i = 0; i < kRounds; ++i) {
    std::thread flusher([&] {
      const long value = i;
      MPI_Put(&value, 1, MPI_LONG, other, 0, 1, MPI_LONG, w.win);
      MPI_Win_flush(other, w.win);
      MPI_Send(nullptr, 0, MPI_INT, me, 7, MPI_COMM_WORLD);
    });
    const long value = -i;
    MPI_Put(&value, 1, MPI_LONG, other, 1, 1, MPI_LONG, w.win);
    MPI_Recv(nullptr, 0, MPI_INT, me, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    flusher.join();
  }
  MPI_Win_unlock_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w.memory[0] == kRounds - 1 && w.memory[1] == 1 - kRounds);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (const int flavor : kFlavors) one_window(flavor);
  for (const int flavor : kFlavors) first_of_epoch(flavor);
  for (const int flavor : kFlavors) flush_beside_a_put(flavor);
  own_windows();
  blocked_lock();
  return check::finish();
}
