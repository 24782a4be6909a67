// SPDX-License-Identifier: BSD-3-Clause
// Every rank sends 8 bytes to each other. all_pairs MOST: no rank may have more descriptors open, ever.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cuts/cutter.hpp"

int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : 256;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto n = static_cast<std::size_t>(size);
  std::vector<long> in(n, -1), out(n);
  std::vector<MPI_Request> all;
  for (int k = 1; k < size; ++k) {
    const int from = (rank + size - k) % size;
    MPI_Irecv(&in[static_cast<std::size_t>(from)], 1, MPI_LONG, from, 3, MPI_COMM_WORLD, &all.emplace_back());
  }
  for (int k = 1; k < size; ++k) {
    const int to = (rank + k) % size;
    out[static_cast<std::size_t>(to)] = rank * 100000L + to;
    MPI_Isend(&out[static_cast<std::size_t>(to)], 1, MPI_LONG, to, 3, MPI_COMM_WORLD, &all.emplace_back());
  }
  std::vector<int> indices(all.size());
  int done = 0, seen = 0;
  for (int turn = 0; done != MPI_UNDEFINED; ++turn) {
    MPI_Waitsome(static_cast<int>(all.size()), all.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
    if (turn % 16 == 0) seen = std::max(seen, rmq::test::open_descriptors());
  }
  for (int from = 0; from < size; ++from) {
    if (from != rank && in[static_cast<std::size_t>(from)] != from * 100000L + rank) {
      std::fprintf(stderr, "all_pairs: rank %d has %ld from %d\n", rank, in[static_cast<std::size_t>(from)], from);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  int top = 0;
  MPI_Reduce(&seen, &top, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d ranks, all pairs: %d descriptors at most\n", size, top);
    if (top > most) {
      std::fprintf(stderr, "all_pairs: a rank had %d descriptors open; %d are allowed\n", top, most);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return 0;
}
