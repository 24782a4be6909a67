/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_spawn, and what it lacks for a program that is a launcher itself: an environment for all processes and for
 * each, where their input and output go, signals, and a vector of what they return.
 *
 * Info keys of each program of MPI_Comm_spawn and MPI_Comm_spawn_multiple, beside those of the standard:
 *   env                NAME=VALUE lines, for all processes of the program
 *   rmq_env_each       NUMBER NAME=VALUE lines, for one process: its number among those of its program
 *   rmq_stdin, rmq_stdout, rmq_stderr
 *                      a file, a FIFO, or a pipe of the parent's (rmq_pipe_path); %r is the process's MPI_COMM_WORLD
 * rank. Without these rank 0 has no input, and output goes where the parent's goes.
 *
 *   rmq_stdin_each, rmq_stdout_each, rmq_stderr_each
 *                      NUMBER PATH lines, for one process
 * A line that begins with a blank goes on with the one before it, as its next line: values may have several. What is
 * longer than MPI_MAX_INFO_VAL goes on under KEY.1, KEY.2 … rmq/spawn.hpp does both by itself. Bytes are as they are,
 * in whatever encoding.
 *
 * A FIFO has to be open at its other end, for reading, before a process is to write into it; who reads from one that
 * nobody has open for writing finds its end.
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
/* MPI_Comm_spawn_multiple without the communicators: for programs of any kind, and for who only looks after them. The
 * world has no parent, and its job ends with this one's if that ends badly. Local; `infos` may be NULL, each of `argvs`
 * too. MPI_ERR_SPAWN, MPI_ERR_ARG. */
int rmq_start_job(int count, char* const commands[], char** const argvs[], const int processes[],
                  const MPI_Info infos[], char job[RMQ_JOB_NAME]);
/* Sends a signal to all processes of a job that this program's launcher has started. MPI_ERR_SPAWN: there is none, or
 * no such signal. */
int rmq_signal_job(const char* job, int signal);
/* What happens to a job that this program's launcher has started for it, in the order in which it happens. */
enum rmq_event_kind {
  RMQ_EVENT_NONE,  /* nothing in the time given */
  RMQ_EVENT_ENDED, /* a process has ended: its rank, and its exit code, or 128 + the signal that has ended it */
  RMQ_EVENT_OVER   /* there is nobody left */
};
struct rmq_event {
  enum rmq_event_kind kind;
  int rank, code;
};
/* Event number 0, 1, 2 … of the job; waits for it, at most `milliseconds` (negative: without end). MPI makes progress
 * meanwhile. They can be read again until rmq_await_job has told the codes. MPI_ERR_SPAWN: there is no such job. */
int rmq_next_event(const char* job, int number, int milliseconds, struct rmq_event* event);
/* Waits until all processes of the job have ended, and tells what each returned: its exit code, or 128 + the signal
 * that has ended it. `room` codes at most; *count: how many there are. MPI makes progress meanwhile. Once for each job.
 * Of jobs of MPI_Comm_spawn that have ended the launcher remembers the latest 1024 only. MPI_ERR_SPAWN: there is no
 * such job. */
int rmq_await_job(const char* job, int room, int codes[], int* count);
/* For rmq_stdout and its kin: the path of a descriptor of this process, on its host. At most `room` characters. */
int rmq_pipe_path(int fd, char* path, int room);

#ifdef __cplusplus
}
#endif
#endif
