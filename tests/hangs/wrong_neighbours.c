// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^mismatched neighbours: Rank 0 waits in MPI_Neighbor_allgather .*, but in the graph of ring rank 1 does not have it among its destinations
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, size, in[1], out = 0;
  MPI_Comm ring;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size; /* it has to be the one before as a source */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &next, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &ring);
  MPI_Comm_set_name(ring, "ring");
  MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, ring);
  MPI_Finalize();
  return 0;
}
