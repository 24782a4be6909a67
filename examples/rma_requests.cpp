// SPDX-License-Identifier: BSD-3-Clause
// MPI-3 feature: request-based completion. A rank works through tiles that lie on its neighbour: while it computes on
// one, the next is on its way, and results go back without a wait for all.
//   rmqrun -n 2 rma_requests [tiles]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
constexpr int kTile = 4096;  // doubles

double value(int rank, long i) {
  return rank * 1000.0 + static_cast<double>(i % 997);
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int tiles = argc > 1 ? std::atoi(argv[1]) : 64;
  const int other = (rank + 1) % size;

  double* mine;
  MPI_Win window;
  MPI_Win_allocate(MPI_Aint{tiles} * kTile * MPI_Aint{sizeof(double)}, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &window);
  for (long i = 0; i < long{tiles} * kTile; ++i) mine[i] = value(rank, i);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);

  std::vector<double> in[2] = {std::vector<double>(kTile), std::vector<double>(kTile)};
  std::vector<double> out[2] = {std::vector<double>(kTile), std::vector<double>(kTile)};
  MPI_Request get[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, put[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto fetch = [&](int tile) {
    MPI_Rget(in[tile % 2].data(), kTile, MPI_DOUBLE, other, MPI_Aint{tile} * kTile, kTile, MPI_DOUBLE, window,
             &get[tile % 2]);
  };
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    const int slot = tile % 2;
    if (tile + 1 < tiles) fetch(tile + 1);
    MPI_Wait(&get[slot], MPI_STATUS_IGNORE);  // this tile is here
    MPI_Wait(&put[slot], MPI_STATUS_IGNORE);  // the buffer of the result before the last may be used again
    for (int i = 0; i < kTile; ++i) out[slot][static_cast<std::size_t>(i)] = 2 * in[slot][static_cast<std::size_t>(i)];
    MPI_Rput(out[slot].data(), kTile, MPI_DOUBLE, other, MPI_Aint{tile} * kTile, kTile, MPI_DOUBLE, window, &put[slot]);
  }
  MPI_Waitall(2, put, MPI_STATUSES_IGNORE);  // local: the results may still be on their way …
  MPI_Win_flush(other, window);              // … remote: now they are there
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);

  long wrong = 0;
  for (long i = 0; i < long{tiles} * kTile; ++i) wrong += mine[i] != 2 * value(rank, i);
  long all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d tiles on %d ranks: %s\n", tiles, size, all == 0 ? "right" : "WRONG");
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
