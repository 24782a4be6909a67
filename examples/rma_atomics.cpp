// SPDX-License-Identifier: BSD-3-Clause
// MPI-3 feature: atomics. All ranks draw numbers from one counter (MPI_Fetch_and_op: each number is drawn once), and
// take turns in a critical section that a word guards (MPI_Compare_and_swap).
//   rmqrun -n 4 rma_atomics [draws per rank]
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int draws = argc > 1 ? std::atoi(argv[1]) : 1000;

  enum : MPI_Aint { counter, guard, shared, words };  // words of rank 0's window
  std::int64_t* base;
  MPI_Win window;
  MPI_Win_allocate(rank == 0 ? words * MPI_Aint{sizeof(std::int64_t)} : 0, sizeof(std::int64_t), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &base, &window);
  MPI_Win_lock_all(0, window);
  if (rank == 0) {
    for (int i = 0; i < words; ++i) base[i] = 0;
    MPI_Win_sync(window);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  const std::int64_t one = 1, zero = 0;
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(draws));
  for (std::int64_t& ticket : drawn) {
    MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, counter, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }

  // In the critical section an ordinary get and put are enough.
  for (int i = 0; i < draws / 10; ++i) {
    for (std::int64_t taken = 1; taken != 0;) {
      MPI_Compare_and_swap(&one, &zero, &taken, MPI_INT64_T, 0, guard, window);
      MPI_Win_flush(0, window);
    }
    std::int64_t value;
    MPI_Get(&value, 1, MPI_INT64_T, 0, shared, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, 0, shared, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    std::int64_t mine;
    MPI_Fetch_and_op(&zero, &mine, MPI_INT64_T, 0, guard, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  std::int64_t sum = 0, all = 0;
  for (const std::int64_t ticket : drawn) sum += ticket;
  MPI_Reduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  bool right = true;
  if (rank == 0) {
    MPI_Win_sync(window);
    const std::int64_t n = std::int64_t{draws} * size;
    right = base[counter] == n && all == n * (n - 1) / 2 && base[shared] == std::int64_t{draws / 10} * size;
    std::printf("%lld numbers drawn, %lld turns in the critical section: %s\n", static_cast<long long>(base[counter]),
                static_cast<long long>(base[shared]), right ? "right" : "WRONG");
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return right ? 0 : 1;
}
