// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Put and get under fences: every rank to every rank and to itself, derived datatypes on both sides, displacement units
// that differ, nothing to or from MPI_PROC_NULL, lengths from nothing to a megabyte, the large-count forms.
#include <algorithm>
#include <numeric>

#include "win_test.hpp"

namespace {

void everyone(int flavor) {
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, n);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
  for (int to = 0; to < n; ++to) {
    const long value = 100 * me + to;
    MPI_Put(&value, 1, MPI_LONG, to, me, 1, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);  // also a local completion: `value` goes
  }
  for (int from = 0; from < n; ++from) CHECK(w.memory[from] == 100 * from + me);
  MPI_Win_fence(0, w.win);
  std::vector<long> got(static_cast<std::size_t>(n), -1);
  for (int from = 0; from < n; ++from) {
    MPI_Get_c(&got[static_cast<std::size_t>(from)], 1, MPI_LONG, from, me, 1, MPI_LONG, w.win);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, w.win);
  for (int from = 0; from < n; ++from) CHECK(got[static_cast<std::size_t>(from)] == 100 * me + from);
}

/// Columns of a matrix there from rows here, and back.
void matrices(int flavor, int edge) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  LongWindow w(flavor, edge * edge);
  MPI_Datatype column, columns;
  MPI_Type_vector(edge, 1, edge, MPI_LONG, &column);
  MPI_Type_create_resized(column, 0, sizeof(long), &columns);
  MPI_Type_commit(&columns);
  std::vector<long> mine(static_cast<std::size_t>(edge * edge)), back(mine.size());
  std::iota(mine.begin(), mine.end(), 1000L * me);
  MPI_Win_fence(0, w.win);
  MPI_Put(mine.data(), edge * edge, MPI_LONG, right, 0, edge, columns, w.win);
  MPI_Win_fence(0, w.win);
  const int left = (me + n - 1) % n;
  bool good = true;
  for (int i = 0; i < edge * edge; ++i) good = good && w.memory[(i % edge) * edge + i / edge] == 1000L * left + i;
  CHECK(good);
  MPI_Get(back.data(), edge, columns, right, 0, edge * edge, MPI_LONG, w.win);  // transposed once more
  MPI_Win_fence(0, w.win);
  CHECK(back == mine);
  MPI_Type_free(&column);
  MPI_Type_free(&columns);
}

void lengths(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  constexpr int kMost = 1 << 17;
  LongWindow w(flavor, kMost);
  std::vector<long> data(kMost), back(kMost);
  for (int count = 0; count <= kMost; count = count ? count * 8 : 1) {
    std::iota(data.begin(), data.end(), me + count);
    MPI_Win_fence(0, w.win);
    MPI_Put(data.data(), count, MPI_LONG, right, kMost - count, count, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    bool good = true;
    for (int i = 0; i < count; ++i) good = good && w.memory[kMost - count + i] == left + count + i;
    CHECK(good);
    MPI_Get(back.data(), count, MPI_LONG, right, kMost - count, count, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    CHECK(std::equal(back.begin(), back.begin() + count, data.begin()));
  }
}

/// What one rank has put before a fence is there for every other rank that gets it behind the fence, not only for the
/// target itself.
void third_party(int flavor) {
  constexpr int kCount = 100000, kRounds = 24;
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, kCount);
  std::vector<long> out(kCount);
  MPI_Win_fence(0, w.win);
  for (int round = 0; round < kRounds; ++round) {
    const int writer = round % n, target = (writer + 1 + round / n % (n - 1)) % n;
    out.assign(out.size(), round);
    if (me == writer) MPI_Put(out.data(), kCount, MPI_LONG, target, 0, kCount, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    long first = -1, last = -1;
    MPI_Get(&last, 1, MPI_LONG, target, kCount - 1, 1, MPI_LONG, w.win);
    MPI_Get(&first, 1, MPI_LONG, target, 0, 1, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    CHECK(first == round && last == round);
  }
}

void units_differ() {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  std::vector<char> memory(64, 0);
  MPI_Win win;
  MPI_Win_create(memory.data(), 64, me + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  const char c = static_cast<char>('a' + me);
  MPI_Put(&c, 1, MPI_CHAR, right, 5, 1, MPI_CHAR, win);
  MPI_Win_fence(0, win);
  CHECK(memory[static_cast<std::size_t>(5 * (me + 1))] == 'a' + (me + n - 1) % n);
  MPI_Win_free(&win);
}

void nobody() {
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1);
  long x = 7;
  MPI_Win_fence(0, w.win);
  MPI_Put(&x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, w.win);
  MPI_Get(&x, 1, MPI_LONG, MPI_PROC_NULL, 99, 1, MPI_LONG, w.win);
  MPI_Accumulate(&x, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, w.win);
  MPI_Win_fence(0, w.win);
  CHECK(x == 7 && w.memory[0] == 0);
}

/// Members that bring no memory, and a window of one.
void uneven() {
  const int me = check::rank();
  long memory = 0;
  MPI_Win win;
  MPI_Win_create(me == 0 ? &memory : nullptr, me == 0 ? sizeof memory : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  const long value = 42;
  if (me == check::size() - 1) MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
  MPI_Win_fence(0, win);
  CHECK(me != 0 || memory == 42);
  MPI_Win_free(&win);
  LongWindow alone(MPI_WIN_FLAVOR_ALLOCATE, 3, MPI_COMM_SELF);
  MPI_Win_fence(0, alone.win);
  MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, alone.win);
  MPI_Win_fence(0, alone.win);
  CHECK(alone.memory[2] == 42);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    everyone(flavor);
    for (const int edge : {1, 3, 64, 200}) matrices(flavor, edge);
    lengths(flavor);
    third_party(flavor);
  }
  units_differ();
  nobody();
  uneven();
  return check::finish();
}
