// SPDX-License-Identifier: BSD-3-Clause
#include "tools/boot/host_mpi.h"

#include <mpi.h>
#include <stddef.h>

static int attribute(int key, int otherwise) {
  int* value = NULL;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
  return found && value != NULL ? *value : otherwise;
}

int boot_mpi_init(struct boot_mpi_world* world) {
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world->size);
  world->app_num = attribute(MPI_APPNUM, 0);
  world->universe_size = attribute(MPI_UNIVERSE_SIZE, world->size);
  return 0;
}

int boot_mpi_allgather(const void* mine, void* all, int bytes) {
  return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS;
}

int boot_mpi_bcast(void* data, int bytes) {
  return MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
}

int boot_mpi_scatter(const void* all, void* mine, int bytes) {
  return MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
}

void boot_mpi_abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

int boot_mpi_finalize(void) {
  return MPI_Finalize() != MPI_SUCCESS;
}
