// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// What is issued in an epoch of passive target reaches its target though nobody flushes it, while its origin waits in
// whatever call for what the target does when it sees it. Locks made of windows count on that.
#include "win_test.hpp"

namespace {

enum class Op { put, accumulate, get_accumulate, fetch_and_op, compare_and_swap, several };
enum class Waits { receive, probe, test, flush_own, sync };

void issue(Op op, int target, MPI_Win win) {
  static const long kOne = 1, kZero = 0;
  static long before;
  switch (op) {
    case Op::put:
      MPI_Put(&kOne, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
      break;
    case Op::accumulate:
      MPI_Accumulate(&kOne, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_REPLACE, win);
      break;
    case Op::get_accumulate:
      MPI_Get_accumulate(&kOne, 1, MPI_LONG, &before, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
      break;
    case Op::fetch_and_op:
      MPI_Fetch_and_op(&kOne, &before, MPI_LONG, target, 0, MPI_REPLACE, win);
      break;
    case Op::compare_and_swap:
      MPI_Compare_and_swap(&kOne, &kZero, &before, MPI_LONG, target, 0, win);
      break;
    case Op::several:
      for (int i = 0; i < 5; ++i) MPI_Put(&kOne, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
      MPI_Accumulate(&kOne, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
      break;
  }
}

/// Waits for the message of `from` that it has seen what it was sent.
void wait_for_word(Waits waits, int from, LongWindow& w) {
  int there = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  if (waits == Waits::test) MPI_Irecv(nullptr, 0, MPI_INT, from, 0, MPI_COMM_WORLD, &r);
  while (!there) {
    if (waits == Waits::test) {
      MPI_Test(&r, &there, MPI_STATUS_IGNORE);
    } else if (waits == Waits::receive) {
      there = 1;
    } else {
      if (waits == Waits::flush_own) MPI_Win_flush(check::rank(), w.win);
      if (waits == Waits::sync) MPI_Win_sync(w.win);
      MPI_Iprobe(from, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
  }
  if (waits != Waits::test) MPI_Recv(nullptr, 0, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Until another rank has written there; by calls of the window alone.
void wait_for_store(Waits waits, LongWindow& w) {
  long seen = 0;
  while (seen == 0) {
    if (waits == Waits::sync) {
      MPI_Win_sync(w.win);
      seen = *static_cast<volatile long*>(w.memory);
    } else {
      MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, check::rank(), 0, MPI_NO_OP, w.win);
      MPI_Win_flush(check::rank(), w.win);
    }
  }
  static const long kZero = 0;
  MPI_Accumulate(&kZero, 1, MPI_LONG, check::rank(), 0, 1, MPI_LONG, MPI_REPLACE, w.win);
  MPI_Win_flush(check::rank(), w.win);
}

/// Each rank's next one sees what it issues. `words`: and says so by a message, else by an operation of its own that
/// nobody flushes either.
void round(LongWindow& w, Op op, Waits waits, bool words) {
  const int me = check::rank(), n = check::size(), next = (me + 1) % n, before = (me + n - 1) % n;
  if (words) {
    // One after the other: a rank that waits for a word only has issued something.
    for (int who = 0; who < n; ++who) {
      if (me == who) issue(op, next, w.win), wait_for_word(waits, next, w);
      if (before == who) wait_for_store(Waits::flush_own, w), MPI_Send(nullptr, 0, MPI_INT, before, 0, MPI_COMM_WORLD);
    }
  } else {
    if (me == 0) issue(op, next, w.win);
    wait_for_store(waits, w);
    if (me != 0) issue(op, next, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    LongWindow w(flavor, 2);
    for (const Op op :
         {Op::put, Op::accumulate, Op::get_accumulate, Op::fetch_and_op, Op::compare_and_swap, Op::several}) {
      MPI_Win_lock_all(0, w.win);
      for (const Waits waits : {Waits::receive, Waits::probe, Waits::test, Waits::flush_own, Waits::sync})
        round(w, op, waits, true);
      for (const Waits waits : {Waits::flush_own, Waits::sync}) round(w, op, waits, false);
      MPI_Win_unlock_all(w.win);
      // The same with one lock a target, that of its own rank among them: each is shared.
      const int next = (check::rank() + 1) % check::size();
      for (const int target : {check::rank(), next}) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
      round(w, op, Waits::flush_own, false);
      round(w, op, Waits::probe, true);
      for (const int target : {check::rank(), next}) MPI_Win_unlock(target, w.win);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  return check::finish();
}
