// SPDX-License-Identifier: BSD-3-Clause
// 50 puts of one strided datatype into rank 1's ordinary memory, in one epoch with a single flush; verified.
#include <mpi.h>
#include <stdio.h>

enum { kPuts = 50, kBlocks = 64, kStride = 50 };

int main(int argc, char** argv) {
  static double memory[kBlocks * kStride], data[kPuts][kBlocks];
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Datatype column;
  MPI_Type_vector(kBlocks, 1, kStride, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    for (int k = 0; k < kPuts; ++k) {
      for (int i = 0; i < kBlocks; ++i) data[k][i] = 1000.0 * k + i;
      MPI_Put(data[k], kBlocks, MPI_DOUBLE, 1, k, 1, column, window);
    }
    MPI_Win_flush(1, window);
    MPI_Win_unlock(1, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; rank == 1 && k < kPuts; ++k)
    for (int i = 0; i < kBlocks; ++i) wrong += memory[i * kStride + k] != 1000.0 * k + i;
  if (wrong) fprintf(stderr, "strided_put: %d values are wrong\n", wrong);
  MPI_Type_free(&column);
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong != 0;
}
