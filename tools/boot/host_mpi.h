/* SPDX-License-Identifier: BSD-3-Clause */
/* All that rmqboot ever asks of the host's MPI. host_mpi.c is compiled once against each MPI that was found; nothing
 * else includes its mpi.h. Functions return 0, or nonzero when MPI refuses; data is bytes. Main thread only. */
#ifndef RMQ_TOOLS_BOOT_MPI_H
#define RMQ_TOOLS_BOOT_MPI_H

#ifdef __cplusplus
extern "C" {
#endif

struct boot_mpi_world {
  int rank, size;
  int app_num;       /* MPI_APPNUM, 0 when the launcher does not tell */
  int universe_size; /* MPI_UNIVERSE_SIZE, `size` when the launcher does not tell */
};

int boot_mpi_init(struct boot_mpi_world* world);
int boot_mpi_allgather(const void* mine, void* all, int bytes); /* `all` holds size * bytes */
int boot_mpi_bcast(void* data, int bytes);                      /* from rank 0 */
int boot_mpi_scatter(const void* all, void* mine, int bytes);   /* from rank 0; `all` may be null elsewhere */
void boot_mpi_abort(int code);                                  /* does not return */
int boot_mpi_finalize(void);

#ifdef __cplusplus
}
#endif
#endif
