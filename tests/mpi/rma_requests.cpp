// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Operations with requests: all four, many at once, waited for in any way and in any order, to oneself and to nobody;
// statuses are empty, and what was fetched is there.
#include <algorithm>
#include <numeric>
#include <vector>

#include "win_test.hpp"

namespace {

void all_four(int flavor) {
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, 4 * n);
  MPI_Win_lock_all(0, w.win);
  for (int to = 0; to < n; ++to) {
    const long put = 100 + me, add = 5;
    long old = -1, got = -1;
    MPI_Request r[2];
    MPI_Status s;
    s.MPI_TAG = 77;
    MPI_Rput(&put, 1, MPI_LONG, to, me, 1, MPI_LONG, w.win, &r[0]);
    MPI_Wait(&r[0], &s);
    CHECK(r[0] == MPI_REQUEST_NULL && s.MPI_TAG == MPI_ANY_TAG && s.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Win_flush(to, w.win);
    MPI_Raccumulate(&add, 1, MPI_LONG, to, me, 1, MPI_LONG, MPI_SUM, w.win, &r[0]);
    MPI_Rget_accumulate(&add, 1, MPI_LONG, &old, 1, MPI_LONG, to, me, 1, MPI_LONG, MPI_SUM, w.win, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(old == 105 + me);
    MPI_Win_flush(to, w.win);
    MPI_Rget(&got, 1, MPI_LONG, to, me, 1, MPI_LONG, w.win, &r[0]);
    for (int flag = 0; !flag;) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    CHECK(got == 110 + me);
  }
  MPI_Win_unlock_all(w.win);
}

void many(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  constexpr int kOperations = 200, kCount = 500;
  LongWindow w(flavor, kOperations * kCount);
  std::vector<long> out(kOperations * kCount), in(out.size(), -1);
  std::iota(out.begin(), out.end(), 1L + me);
  std::vector<MPI_Request> r(kOperations);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w.win);
  for (int i = 0; i < kOperations; ++i) {
    MPI_Rput_c(&out[static_cast<std::size_t>(i * kCount)], kCount, MPI_LONG, right, i * kCount, kCount, MPI_LONG, w.win,
               &r[static_cast<std::size_t>(i)]);
  }
  for (int done = 0; done != MPI_UNDEFINED;) MPI_Waitany(kOperations, r.data(), &done, MPI_STATUS_IGNORE);
  MPI_Win_flush(right, w.win);
  for (int i = 0; i < kOperations; ++i) {
    MPI_Rget(&in[static_cast<std::size_t>(i * kCount)], kCount, MPI_LONG, right, i * kCount, kCount, MPI_LONG, w.win,
             &r[static_cast<std::size_t>(i)]);
  }
  for (int flag = 0; !flag;) MPI_Testall(kOperations, r.data(), &flag, MPI_STATUSES_IGNORE);
  CHECK(in == out);
  MPI_Win_unlock(right, w.win);
}

void to_nobody() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  long x = 3;
  MPI_Request r[4];
  MPI_Win_lock_all(0, w.win);
  MPI_Rput(&x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w.win, &r[0]);
  MPI_Rget(&x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w.win, &r[1]);
  MPI_Raccumulate(&x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w.win, &r[2]);
  MPI_Rget_accumulate(&x, 1, MPI_LONG, &x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w.win, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  MPI_Win_unlock_all(w.win);
  CHECK(x == 3);
}

/// A request that is waited for after its epoch, and even its window, has ended.
void late(int flavor) {
  const int right = (check::rank() + 1) % check::size();
  const long x = 1;
  MPI_Request r;
  {
    LongWindow w(flavor, 1);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w.win);
    MPI_Rput(&x, 1, MPI_LONG, right, 0, 1, MPI_LONG, w.win, &r);
    MPI_Win_unlock(right, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(w.memory[0] == 1);
  }
  CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/// A request that is under way cannot be freed, only waited for. Some are over when the call returns.
void not_freed(int flavor) {
  constexpr int kCount = 1 << 17;
  const int right = (check::rank() + 1) % check::size();
  LongWindow w(flavor, kCount);
  w.memory[kCount - 1] = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<long> got(kCount);
  MPI_Request r;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w.win);
  MPI_Rget(got.data(), kCount, MPI_LONG, right, 0, kCount, MPI_LONG, w.win, &r);
  const int code = MPI_Request_free(&r);
  if (code == MPI_SUCCESS) {
    CHECK(r == MPI_REQUEST_NULL);
  } else {
    CHECK(check::class_of(code) == MPI_ERR_REQUEST && r != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[kCount - 1] == 7);
  }
  MPI_Win_unlock(right, w.win);
  CHECK(got[kCount - 1] == 7);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    all_four(flavor);
    many(flavor);
    late(flavor);
    not_freed(flavor);
  }
  to_nobody();
  return check::finish();
}
