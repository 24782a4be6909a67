/* SPDX-License-Identifier: BSD-3-Clause */
/* Each address that stands for "none" or "ignore", passed to each function that takes it. abi_header.sh compiles it. */
#include <mpi.h>

int use(MPI_Request requests[2], MPI_Comm* made);
int use(MPI_Request requests[2], MPI_Comm* made) {
  int flag, count, places[2] = {0, 0}, ones[1] = {1};
  char program[] = "x", *programs[1] = {program};
  MPI_Info infos[1] = {MPI_INFO_NULL};
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  MPI_Waitsome(2, requests, &count, places, MPI_STATUSES_IGNORE);
  MPI_Testsome(2, requests, &count, places, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_some(2, requests, &count, places, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_any(2, requests, &count, &flag, MPI_STATUS_IGNORE);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, places, MPI_UNWEIGHTED, 1, places, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 made);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, places, MPI_WEIGHTS_EMPTY, 0, places, MPI_WEIGHTS_EMPTY,
                                 MPI_INFO_NULL, 0, made);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, places, ones, places, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, made);
  MPI_Dist_graph_neighbors(*made, 1, places, MPI_UNWEIGHTED, 1, places, MPI_UNWEIGHTED);
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, made, MPI_ERRCODES_IGNORE);
  MPI_Comm_spawn_multiple(1, programs, MPI_ARGVS_NULL, ones, infos, 0, MPI_COMM_WORLD, made, MPI_ERRCODES_IGNORE);
  return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, places, ones, places, MPI_INT, MPI_COMM_WORLD);
}
