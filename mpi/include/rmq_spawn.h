/* MPI_Comm_spawn, and what it lacks for a program that is a launcher itself: an environment for all processes and for
 * each, where their input and output go, signals, and a vector of what they return.
 *
 * Info keys of each program of MPI_Comm_spawn and MPI_Comm_spawn_multiple, beside those of the standard:
 *   env                NAME=VALUE lines, for all processes of the program
 *   rmq_env_each       NUMBER NAME=VALUE lines, for one process: its number among those of its program
 *   rmq_stdin, rmq_stdout, rmq_stderr
 *                      a file, a FIFO, or a pipe of the parent's (rmq_pipe_path); %r is the process's MPI_COMM_WORLD rank.
 *                      Without these rank 0 has no input, and output goes where the parent's goes.
 *
 * All functions return MPI error classes; rmq/spawn.hpp is the same for C++. */
#ifndef RMQ_SPAWN_H
#define RMQ_SPAWN_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMQ_JOB_NAME 17 /* characters of a job's name, the final zero included */

/* The name of the job that the remote group's rank 0 is of; valid also when the two have parted. MPI_ERR_COMM. */
int rmq_spawned_job(MPI_Comm intercomm, char job[RMQ_JOB_NAME]);
/* Sends a signal to all processes of a job that this program's launcher has started. MPI_ERR_SPAWN: there is none. */
int rmq_signal_job(const char *job, int signal);
/* Waits until all processes of the job have ended, and tells what each returned: its exit code, or 128 + the signal
 * that has ended it. `room` codes at most; *count: how many there are. MPI makes progress meanwhile. Once for each job.
 * MPI_ERR_SPAWN: there is no such job. */
int rmq_await_job(const char *job, int room, int codes[], int *count);
/* For rmq_stdout and its kin: the path of a descriptor of this process, on its host. At most `room` characters. */
int rmq_pipe_path(int fd, char *path, int room);

#ifdef __cplusplus
}
#endif
#endif
