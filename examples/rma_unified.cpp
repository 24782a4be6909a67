// SPDX-License-Identifier: BSD-3-Clause
// MPI-3 features: symmetric allocation and the unified memory model. MPI_Win_allocate takes the memory itself, so ranks
// of one host share it; and because public and private copy of a window are one, a rank may watch its own memory with
// plain loads for what others put there. A token goes round a ring, and nobody calls a receive.
//   rmqrun -n 4 rma_unified [rounds]
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::int64_t rounds = argc > 1 ? std::atol(argv[1]) : 200;

  std::int64_t* token;
  MPI_Win window;
  MPI_Win_allocate(sizeof *token, sizeof *token, MPI_INFO_NULL, MPI_COMM_WORLD, &token, &window);
  int *model, found;
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
  if (!found || *model != MPI_WIN_UNIFIED) {
    if (rank == 0) std::printf("this window is not unified\n");
    MPI_Win_free(&window);
    MPI_Finalize();
    return 1;
  }
  *token = 0;
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);

  const int next = (rank + 1) % size;
  std::int64_t last = 0;
  for (std::int64_t round = 1; round <= rounds; ++round) {
    if (rank != 0 || round > 1) {
      const std::int64_t before = last;
      while ((last = std::atomic_ref<std::int64_t>(*token).load(std::memory_order_acquire)) == before) {
        int flag;  // lets MPI move on: its memory may be served by this rank's own calls
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Win_sync(window);
      }
    }
    const std::int64_t passed = last + 1;
    MPI_Accumulate(&passed, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, MPI_REPLACE, window);
    MPI_Win_flush(next, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  // The token has grown by one at each hop; rank r passed it on (rounds - 1) * size + r + 1 at last.
  const std::int64_t expected = rank == 0 ? rounds * size : (rounds - 1) * size + rank;
  int right = *token == expected, all;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%lld hops: %s\n", static_cast<long long>(rounds) * size, all ? "right" : "WRONG");
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return all ? 0 : 1;
}
