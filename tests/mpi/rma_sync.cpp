// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Synchronisation: post and start in a ring and with nobody, test instead of wait, exclusive locks that exclude, shared
// ones that do not, NOCHECK, flushes that complete what they say, lock_all, sync.
#include <unistd.h>

#include "win_test.hpp"

namespace {

MPI_Group group_of(std::vector<int> ranks) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&world);
  return group;
}

void ring(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  LongWindow w(flavor, 2);
  MPI_Group from = group_of({left}), to = group_of({right});
  for (int round = 0; round < 50; ++round) {
    MPI_Win_post(from, 0, w.win);
    MPI_Win_start(to, 0, w.win);
    const long value = 10 * round + me;
    MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win);
    MPI_Win_complete(w.win);
    if (round % 2) {
      MPI_Win_wait(w.win);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(w.win, &flag);
    }
    CHECK(w.memory[0] == 10 * round + left);
  }
  MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win);
  MPI_Win_start(MPI_GROUP_EMPTY, 0, w.win);
  MPI_Win_complete(w.win);
  MPI_Win_wait(w.win);
  MPI_Group_free(&from);
  MPI_Group_free(&to);
}

/// One exposes to all others, who come when they like.
void star(int flavor) {
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, n);
  std::vector<int> others;
  for (int i = 1; i < n; ++i) others.push_back(i);
  MPI_Group group = group_of(me == 0 ? others : std::vector<int>{0});
  if (me == 0) {
    MPI_Win_post(group, MPI_MODE_NOSTORE, w.win);
    MPI_Win_wait(w.win);
    for (int i = 1; i < n; ++i) CHECK(w.memory[i] == i);
  } else {
    MPI_Win_start(group, 0, w.win);
    const long value = me;
    MPI_Accumulate(&value, 1, MPI_LONG, 0, me, 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_complete(w.win);
  }
  MPI_Group_free(&group);
}

/// A counter that is not atomic: only the lock keeps it right.
void exclusive(int flavor) {
  constexpr int kRounds = 50;
  LongWindow w(flavor, 1);
  for (int i = 0; i < kRounds; ++i) {
    long value = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush(0, w.win);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
    MPI_Win_unlock(0, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long total = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
  MPI_Get(&total, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
  MPI_Win_unlock(0, w.win);
  CHECK(total == static_cast<long>(kRounds) * check::size());
}

/// All hold a shared lock of all others at once: none of them may wait for another.
void shared(int flavor) {
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, n);
  for (int i = 0; i < n; ++i) MPI_Win_lock(MPI_LOCK_SHARED, i, 0, w.win);
  const long value = me + 1;
  for (int i = 0; i < n; ++i) MPI_Put(&value, 1, MPI_LONG, i, me, 1, MPI_LONG, w.win);
  MPI_Win_flush_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(w.win);
  for (int i = 0; i < n; ++i) CHECK(w.memory[i] == i + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = n; i-- > 0;) MPI_Win_unlock(i, w.win);
}

void unchecked(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  LongWindow w(flavor, 1);
  const long value = me;
  MPI_Win_lock(MPI_LOCK_SHARED, right, MPI_MODE_NOCHECK, w.win);
  MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win);
  MPI_Win_unlock(right, w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w.memory[0] == (me + n - 1) % n);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
  MPI_Accumulate(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, w.win);
  MPI_Win_unlock_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w.memory[0] == 2L * ((me + n - 1) % n));
}

/// After a local flush the origin may be reused; after a flush the value is there.
void flushes(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  LongWindow w(flavor, 1);
  MPI_Win_lock_all(0, w.win);
  for (long i = 1; i <= 100; ++i) {
    long value = i, seen = -1;
    MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush_local(right, w.win);
    value = -7;
    MPI_Win_flush_local_all(w.win);
    MPI_Win_flush(right, w.win);
    MPI_Get(&seen, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush_local(right, w.win);
    CHECK(seen == i);
  }
  MPI_Win_unlock_all(w.win);
  MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, w.win);
  MPI_Win_flush(MPI_PROC_NULL, w.win);
  MPI_Win_unlock(MPI_PROC_NULL, w.win);
}

/// Operations under lock_all wait for who holds the target's lock alone, and keep such a one waiting in turn.
void all_excluded(int flavor) {
  LongWindow w(flavor, 2);
  for (int round = 0; round < 5; ++round) {
    if (check::rank() == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
      w.memory[0] = round;
      MPI_Barrier(MPI_COMM_WORLD);
      usleep(5000);
      w.memory[1] = round;
      MPI_Win_unlock(0, w.win);
    } else {
      long seen[2] = {-1, -1}, again[2] = {-1, -1};
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, w.win);
      MPI_Get(seen, 2, MPI_LONG, 0, 0, 2, MPI_LONG, w.win);
      MPI_Win_flush(0, w.win);
      CHECK(seen[0] == round && seen[1] == round);
      MPI_Get(again, 2, MPI_LONG, 0, 0, 2, MPI_LONG, w.win);
      MPI_Win_unlock_all(w.win);
      CHECK(again[0] == round && again[1] == round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// All the epochs in turn on one window.
void mixed(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  LongWindow w(flavor, 1);
  const long one = 1;
  for (int round = 0; round < 10; ++round) {
    MPI_Win_fence(0, w.win);
    MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, 0, w.win);
    MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_unlock(right, w.win);
    MPI_Group from = group_of({left}), to = group_of({right});
    MPI_Win_post(from, 0, w.win);
    MPI_Win_start(to, 0, w.win);
    MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w.memory[0] == 30);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    ring(flavor);
    star(flavor);
    exclusive(flavor);
    shared(flavor);
    unchecked(flavor);
    flushes(flavor);
    all_excluded(flavor);
    mixed(flavor);
  }
  return check::finish();
}
