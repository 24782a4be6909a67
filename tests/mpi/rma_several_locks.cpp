// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Locks of several targets at once, always asked for in one order, are taken in that order: nobody waits for ever.
// Threads that wait for a lock keep no other thread from its own targets, and one target is locked once.
#include <atomic>
#include <thread>

#include "win_test.hpp"

namespace {

enum class Way { flush, flush_backwards, flush_all, requests };

/// Ranks 0 … 2 count at `first` and `second`, which each of them locks in this order.
void in_order(LongWindow& a, LongWindow& b, int first, int second, Way way) {
  constexpr int kRounds = 60;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kRounds && check::rank() < 3; ++i) {
    const struct {
      MPI_Win win;
      int target;
    } of[] = {{a.win, first}, {b.win, second}};
    long old[2];
    for (const auto& o : of) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, o.target, 0, o.win);
    for (int k = 0; k < 2; ++k) {
      const auto& o = of[way == Way::flush_backwards ? 1 - k : k];
      MPI_Request r;
      if (way == Way::requests)
        MPI_Rget(&old[k], 1, MPI_LONG, o.target, 0, 1, MPI_LONG, o.win, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
      else
        MPI_Get(&old[k], 1, MPI_LONG, o.target, 0, 1, MPI_LONG, o.win);
      if (way == Way::flush || way == Way::flush_backwards) MPI_Win_flush(o.target, o.win);
    }
    if (way == Way::flush_all) MPI_Win_flush_all(a.win), MPI_Win_flush_all(b.win);
    for (int k = 0; k < 2; ++k) {
      const auto& o = of[way == Way::flush_backwards ? 1 - k : k];
      ++old[k];
      MPI_Put(&old[k], 1, MPI_LONG, o.target, 0, 1, MPI_LONG, o.win);
    }
    for (const auto& o : of) MPI_Win_unlock(o.target, o.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, a.win);
  if (check::rank() == first) CHECK(a.memory[0] == 3 * kRounds);
  a.memory[0] = 0;
  MPI_Win_unlock_all(a.win);
  MPI_Win_lock_all(0, b.win);
  if (check::rank() == second && a.win != b.win) CHECK(b.memory[0] == 3 * kRounds);
  b.memory[0] = 0;
  MPI_Win_unlock_all(b.win);
}

/// Takes the lock of rank 1, writes to its word `at`, says so to rank 0, and lets go when `by` says so.
void hold_until_told(LongWindow& w, int at, int by) {
  const long one = 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
  MPI_Put(&one, 1, MPI_LONG, 1, at, 1, MPI_LONG, w.win);
  MPI_Win_flush(1, w.win);
  MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
  MPI_Recv(nullptr, 0, MPI_INT, by, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_unlock(1, w.win);
}

/// What waits for the lock of rank 1 keeps no other thread: rank 2 has it until that one has flushed, and told.
void beside_a_thread_that_waits() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  if (check::rank() == 2) {
    hold_until_told(w, 0, 0);
  } else if (check::rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long x = 5;
    MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, w.win);
    MPI_Put(&x, 1, MPI_LONG, 3, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush(3, w.win);
    std::atomic<bool> begun{false};
    std::thread waits([&] {
      begun = true;
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
      MPI_Win_unlock(1, w.win);
    });
    while (!begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most probably it waits by now
    CHECK(MPI_Win_flush_all(w.win) == MPI_SUCCESS && MPI_Win_flush_local_all(w.win) == MPI_SUCCESS);
    MPI_Send(nullptr, 0, MPI_INT, 2, 2, MPI_COMM_WORLD);
    waits.join();
    MPI_Win_unlock(3, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// An order of locks is a thread's own: rank 0 locks rank 3 while another thread of it waits for rank 1.
void another_lock_beside_a_thread_that_waits() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  if (check::rank() == 2) {
    hold_until_told(w, 0, 0);
  } else if (check::rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::atomic<bool> begun{false};
    const auto add_to = [&](int target) {
      long one = 1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win);
      begun = true;
      MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, w.win);
      MPI_Win_unlock(target, w.win);
    };
    std::thread waits([&] { add_to(1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most probably it waits by now
    add_to(3);
    MPI_Send(nullptr, 0, MPI_INT, 2, 2, MPI_COMM_WORLD);
    waits.join();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What one thread issues leaves while another one's flush of all waits for a lock: rank 3 has it until rank 2 has seen
/// that.
void operations_beside_a_flush_of_all(bool local) {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 2);
  long one = 1;
  if (check::rank() == 3) {
    hold_until_told(w, 1, 2);
  } else if (check::rank() == 2) {
    long seen = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 2, MPI_MODE_NOCHECK, w.win);
    while (seen == 0) {
      MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, 2, 0, MPI_NO_OP, w.win);
      MPI_Win_flush(2, w.win);
    }
    MPI_Win_unlock(2, w.win);
    MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Send(nullptr, 0, MPI_INT, 3, 2, MPI_COMM_WORLD);
  } else if (check::rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, 2, MPI_MODE_NOCHECK, w.win);
    MPI_Put(&one, 1, MPI_LONG, 2, 1, 1, MPI_LONG, w.win);
    std::thread waits([&] {
      long two[] = {1, 1};
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
      for (const long& x : two) MPI_Put(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w.win);
      local ? MPI_Win_flush_local_all(w.win) : MPI_Win_flush_all(w.win);
      MPI_Win_unlock(1, w.win);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most probably it waits by now
    MPI_Accumulate(&one, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_REPLACE, w.win);
    MPI_Recv(nullptr, 0, MPI_INT, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    waits.join();
    MPI_Win_unlock(2, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The same order where one of the two locks is that of an operation under lock_all.
void in_order_with_lock_all(LongWindow& a, LongWindow& b, bool all_first) {
  const long one = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 60 && check::rank() < 2; ++i) {
    if (check::rank() == 0) {
      if (!all_first) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, a.win);
      MPI_Win_lock_all(0, b.win);
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, b.win);
      if (all_first) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, a.win);
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, a.win);
      MPI_Win_flush(1, a.win);
      MPI_Win_flush(1, b.win);
      MPI_Win_unlock_all(b.win);
      MPI_Win_unlock(1, a.win);
    } else {
      LongWindow& first = all_first ? b : a;
      LongWindow& second = all_first ? a : b;
      for (LongWindow* const w : {&first, &second}) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w->win);
      for (LongWindow* const w : {&first, &second}) MPI_Win_unlock(1, w->win);
      if (!all_first) {  // lock_all takes the lock of its own rank at once
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, a.win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, b.win);
        MPI_Win_unlock(0, b.win);
        MPI_Win_unlock(1, a.win);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (LongWindow* const w : {&a, &b}) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check::rank(), 0, w->win);
    CHECK(w->memory[0] == (check::rank() == 1 ? 60 : 0));
    w->memory[0] = 0;
    MPI_Win_unlock(check::rank(), w->win);
  }
}

/// Two threads of rank 0 lock rank 1: one of them is told that it may not, at once, and the other gets the lock.
void one_target_by_two_threads() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
  if (check::rank() == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
    w.memory[0] = 4;
    MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_unlock(1, w.win);
  } else if (check::rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::atomic<int> refused{0}, held{0};
    const auto lock = [&] {
      const int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
      if (code != MPI_SUCCESS) {
        CHECK(check::class_of(code) == MPI_ERR_RMA_SYNC);
        ++refused;
        return;
      }
      ++held;
      // Who locks by packets comes out before the lock is held: the other is to find it locked.
      while (refused == 0) std::this_thread::yield();
      long x = 6;
      MPI_Put(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, w.win);
      CHECK(MPI_Win_unlock(1, w.win) == MPI_SUCCESS);
    };
    std::thread one(lock), two(lock);
    while (refused == 0) std::this_thread::yield();
    MPI_Send(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    one.join();
    two.join();
    CHECK(refused == 1 && held == 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
    CHECK(w.memory[0] == 6);
    MPI_Win_unlock(1, w.win);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  for (const int flavor : kFlavors) {
    LongWindow a(flavor, 1), b(flavor, 1);
    for (const Way way : {Way::flush, Way::flush_backwards, Way::flush_all, Way::requests}) {
      in_order(a, b, 1, 3, way);
      in_order(a, b, 3, 1, way);
    }
    for (const bool all_first : {true, false}) in_order_with_lock_all(a, b, all_first);
  }
  beside_a_thread_that_waits();
  another_lock_beside_a_thread_that_waits();
  for (const bool local : {true, false}) operations_beside_a_flush_of_all(local);
  one_target_by_two_threads();
  return check::finish();
}
