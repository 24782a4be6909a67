// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Accumulates: sums of all ranks, tickets that nobody gets twice, compare-and-swap, pairs, MPI_REPLACE and MPI_NO_OP,
// derived datatypes, many elements, operations that exclude each other element by element.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "win_test.hpp"

namespace {

constexpr int kRounds = 100;

void sums(int flavor) {
  const int n = check::size();
  constexpr int kCount = 5000;
  LongWindow w(flavor, kCount);
  std::vector<long> ones(kCount, 1);
  MPI_Win_fence(0, w.win);
  for (int to = 0; to < n; ++to) {
    MPI_Accumulate(ones.data(), kCount, MPI_LONG, to, 0, kCount, MPI_LONG, MPI_SUM, w.win);
    MPI_Accumulate(ones.data(), 1, MPI_LONG, to, 7, 1, MPI_LONG, MPI_SUM, w.win);
  }
  MPI_Win_fence(0, w.win);
  for (int i = 0; i < kCount; ++i) {
    if (w.memory[i] != (i == 7 ? 2 * n : n)) return CHECK(!"the sum is wrong");
  }
}

// Single numbers and long rows of them at the same time, under as many mutexes as there are.
void fine_sums(int flavor) {
  const int n = check::size(), me = check::rank();
  constexpr int kCount = 1000;
  for (const char* granularity : {"1", "24", "nonsense", "100000"}) {
    MPI_Info hints;
    MPI_Info_create(&hints);
    // Each member's own wish counts for its memory.
    MPI_Info_set(hints, "mpi_accumulate_granularity", me == 0 ? "8" : granularity);
    LongWindow w(flavor, kCount, MPI_COMM_WORLD, hints);
    MPI_Info_free(&hints);
    const std::vector<long> ones(kCount, 1);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < kRounds; ++i) {
      for (int to = 0; to < n; ++to) {
        MPI_Accumulate(ones.data(), 1, MPI_LONG, to, (i * 7 + me) % kCount, 1, MPI_LONG, MPI_SUM, w.win);
        if (i % 10 == 0) MPI_Accumulate(ones.data(), kCount, MPI_LONG, to, 0, kCount, MPI_LONG, MPI_SUM, w.win);
      }
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w.win);
    const long sum = std::accumulate(w.memory, w.memory + kCount, 0L);
    MPI_Win_unlock(me, w.win);
    CHECK(sum == long{n} * kRounds + long{n} * (kRounds / 10) * kCount);
  }
}

void tickets(int flavor) {
  const int n = check::size(), me = check::rank();
  LongWindow w(flavor, 1);
  std::vector<long> mine;
  const long one = 1;
  MPI_Win_lock_all(0, w.win);
  for (int i = 0; i < kRounds; ++i) {
    long ticket = -1;
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, w.win);
    MPI_Win_flush(0, w.win);
    mine.push_back(ticket);
  }
  MPI_Win_unlock_all(w.win);
  CHECK(std::is_sorted(mine.begin(), mine.end()));
  std::vector<long> all(static_cast<std::size_t>(n) * kRounds);
  MPI_Gather(mine.data(), kRounds, MPI_LONG, all.data(), kRounds, MPI_LONG, 0, MPI_COMM_WORLD);
  if (me != 0) return;
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<long>(i));
}

void swaps(int flavor) {
  const int n = check::size();
  LongWindow w(flavor, 1);
  MPI_Win_lock_all(0, w.win);
  const int target = n - 1;
  for (int i = 0; i < kRounds; ++i) {  // adds one by compare-and-swap
    long seen = 0, old;
    MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, target, 0, MPI_NO_OP, w.win);
    MPI_Win_flush(target, w.win);
    for (;;) {
      const long next = seen + 1;
      MPI_Compare_and_swap(&next, &seen, &old, MPI_LONG, target, 0, w.win);
      MPI_Win_flush(target, w.win);
      if (old == seen) break;
      seen = old;
    }
  }
  MPI_Win_unlock_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == target) {
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
    CHECK(w.memory[0] == static_cast<long>(n) * kRounds);
    MPI_Win_unlock(target, w.win);
  }
}

template <class Value>
struct Pair {
  Value value;
  int index;
};

template <class Value>
void pairs(MPI_Datatype type) {
  const int me = check::rank();
  Pair<Value>* memory;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memory[0] = {1000, -1};
  memory[1] = {-1000, -1};
  MPI_Win_fence(0, win);
  const Pair<Value> mine{static_cast<Value>(me % 2 ? 10 : 20), me};
  Pair<Value> old{};
  MPI_Accumulate(&mine, 1, type, 0, 0, 1, type, MPI_MINLOC, win);
  MPI_Get_accumulate(&mine, 1, type, &old, 1, type, 0, 1, 1, type, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  CHECK(old.value == -1000 || old.value == 10 || old.value == 20);
  if (me == 0) CHECK(memory[0].value == 10 && memory[0].index == 1);
  if (me == 0) CHECK(memory[1].value == 20 && memory[1].index == 0);
  MPI_Win_free(&win);
}

/// One element of each size, all operations that it takes; what was there before comes back in order.
template <class T>
void elements(MPI_Datatype type) {
  const int me = check::rank(), right = (me + 1) % check::size();
  T* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(T), sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = T(6);
  MPI_Barrier(MPI_COMM_WORLD);
  struct Step {
    MPI_Op op;
    int operand, after;
  };
  const Step steps[] = {{MPI_SUM, 4, 10},  {MPI_PROD, 3, 30},  {MPI_MIN, 12, 12},
                        {MPI_MAX, 20, 20}, {MPI_NO_OP, 0, 20}, {MPI_REPLACE, 5, 5}};
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
  int before = 6;
  for (const Step& s : steps) {
    const T operand = T(s.operand);
    T old = T(0), old2 = T(0);
    MPI_Fetch_and_op(&operand, &old, type, right, 0, s.op, win);
    MPI_Get_accumulate(nullptr, 0, type, &old2, 1, type, right, 0, 1, type, MPI_NO_OP, win);
    MPI_Win_flush(right, win);
    CHECK(old == T(before) && old2 == T(s.after));
    before = s.after;
  }
  MPI_Win_unlock(right, win);
  MPI_Win_free(&win);
}

void derived(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  constexpr int kCount = 300;
  LongWindow w(flavor, 2 * kCount);
  MPI_Datatype every_second;
  MPI_Type_vector(kCount, 1, 2, MPI_LONG, &every_second);
  MPI_Type_commit(&every_second);
  std::vector<long> mine(kCount, me + 1), old(2 * kCount, -1);
  MPI_Win_fence(0, w.win);
  MPI_Accumulate(mine.data(), kCount, MPI_LONG, right, 0, 1, every_second, MPI_SUM, w.win);
  MPI_Win_fence(0, w.win);
  MPI_Get_accumulate(mine.data(), kCount, MPI_LONG, old.data(), 1, every_second, right, 0, 1, every_second, MPI_PROD,
                     w.win);
  MPI_Win_fence(0, w.win);
  const int left = (me + n - 1) % n;
  for (int i = 0; i < 2 * kCount; ++i) {
    const bool used = i % 2 == 0;
    CHECK(w.memory[i] == (used ? static_cast<long>(left + 1) * (left + 1) : 0));
    if (i < 2 * kCount - 1) CHECK(old[static_cast<std::size_t>(i)] == (used ? me + 1 : -1));
  }
  MPI_Type_free(&every_second);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    sums(flavor);
    fine_sums(flavor);
    tickets(flavor);
    swaps(flavor);
    derived(flavor);
  }
  pairs<int>(MPI_2INT);
  pairs<double>(MPI_DOUBLE_INT);
  pairs<short>(MPI_SHORT_INT);
  pairs<float>(MPI_FLOAT_INT);
  pairs<long>(MPI_LONG_INT);
  elements<std::int8_t>(MPI_INT8_T);
  elements<std::uint16_t>(MPI_UINT16_T);
  elements<int>(MPI_INT);
  elements<std::uint64_t>(MPI_UINT64_T);
  elements<float>(MPI_FLOAT);
  elements<double>(MPI_DOUBLE);
  elements<long double>(MPI_LONG_DOUBLE);
  elements<__float128>(MPI_REAL16);
  return check::finish();
}
