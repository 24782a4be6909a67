/* SPDX-License-Identifier: BSD-3-Clause */
/* The remote queue buffer of RMQ: each rank of a communicator owns a buffer of fixed-length messages into which any of
 * them may put, and which only its owner empties. Messages of one sender arrive in the order of its puts. For the
 * aggregation of small messages, and as the base of active messages. C++: rmq/queue_buffer.hpp.
 *
 * Functions return MPI_SUCCESS, or an MPI error class through the communicator's error handler. Any thread may call
 * under MPI_THREAD_MULTIPLE. A put is on its way at once where ranks share memory, and elsewhere at the latest with the
 * sender's next MPI call; an owner's get brings what has come, without waiting for more.
 */
#ifndef RMQ_QUEUE_H
#define RMQ_QUEUE_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rmq_queue_object* rmq_queue;

typedef struct rmq_queue_counters {
  unsigned long long puts;    /* that succeeded here */
  unsigned long long refused; /* tries that found the buffer full or locked */
  unsigned long long taken;   /* messages that this rank has got from its own buffer */
  unsigned long long rounds;  /* gets that brought any */
  unsigned long long lost;    /* messages of ranks that died while they put them */
} rmq_queue_counters;

/* Collective over an intra-communicator. message_bytes: 1 ... 32768; capacity: messages that fit a buffer, 1 ... 2^30.
 * Both must be the same on all ranks. MPI_ERR_ARG, MPI_ERR_COMM, MPI_ERR_NO_MEM. */
int rmq_queue_create(MPI_Comm comm, int message_bytes, int capacity, rmq_queue* queue);
/* Collective: every rank has stopped putting. Messages that nobody has got are gone. Sets *queue to NULL. */
int rmq_queue_free(rmq_queue* queue);

/* Puts a message into the buffer of rank `target`. *done: 1, or 0 while that buffer is full or locked. */
int rmq_queue_try_put(rmq_queue queue, int target, const void* message, int* done);
/* The same, trying again for `seconds` (for ever when negative). The owner must get, now and then, in the meantime. */
int rmq_queue_put(rmq_queue queue, int target, const void* message, double seconds, int* done);

/* Most messages that one get can bring. */
int rmq_queue_most(rmq_queue queue, int* messages);
/* Copies all messages that have come to `messages`, with room for rmq_queue_most of them, and empties the buffer. */
int rmq_queue_get(rmq_queue queue, void* messages, int* count);

/* Closes this rank's own buffer to puts, and opens it again; gets go on in between. */
int rmq_queue_lock(rmq_queue queue);
int rmq_queue_unlock(rmq_queue queue);

int rmq_queue_get_counters(rmq_queue queue, rmq_queue_counters* counters);

#ifdef __cplusplus
}
#endif
#endif
