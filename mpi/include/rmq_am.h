/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages of RMQ: a message names a handler, a function that runs where the message arrives, without a call of
 * the rank that it runs on. C++: rmq/active_messages.hpp. What GASNet and its like stand on: design/active_messages.md.
 *
 *   short    arguments: up to RMQ_AM_ARGS_MOST bytes
 *   medium   and data, up to RMQ_AM_DATA_MOST bytes, which the handler finds in memory of the library
 *   long     and data of any size, which is put into memory that the target has attached; the handler finds it there
 *
 * Messages of one rank to another are handled in order, each once. Handlers run inside of any call of this library or
 * of MPI that makes progress, in whichever thread calls, or, with RMQ_AM_AGENT, in a thread of the library while the
 * program computes; never two at the same time in one process. A handler may reply, once, to what it handles,
 * and call nothing else of this library or of MPI: all calls that could wait, and nearly all others, end the job with a
 * word about it. What it does should be short, and it must not throw. What it shares with the program is shared with
 * another thread, where there are any or with RMQ_AM_AGENT.
 *
 * Functions return MPI_SUCCESS, or an MPI error class through the communicator's error handler; under --ft
 * MPIX_ERR_PROC_FAILED when a rank that is needed is lost. Any thread may call under MPI_THREAD_MULTIPLE.
 */
#ifndef RMQ_AM_H
#define RMQ_AM_H

#include <stddef.h>

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  RMQ_AM_HANDLERS = 256,
  RMQ_AM_ARGS_MOST = 128,
  RMQ_AM_DATA_MOST = 65536,
  RMQ_AM_AGENT = 1 /* flag of rmq_am_create */
};

typedef struct rmq_am_object* rmq_am;

/* What a handler is given; valid while it runs. */
typedef struct rmq_am_message {
  rmq_am am;
  int source;    /* rank in the communicator */
  int handler;   /* its index */
  int may_reply; /* a request that has not been answered */
  int args_bytes;
  const void* args; /* aligned for any type */
  void* data;       /* medium: likewise, and the handler's to change; long: where it was put; NULL: none */
  size_t bytes;
  void* internal;
} rmq_am_message;

typedef void (*rmq_am_handler)(rmq_am_message* message, void* context);

typedef struct rmq_am_counters {
  unsigned long long requests; /* sent by this rank */
  unsigned long long replies;
  unsigned long long handled; /* handlers that have run on this rank */
} rmq_am_counters;

/* Collective over an intra-communicator. The first `count` handlers (at most RMQ_AM_HANDLERS; some may be NULL) are set
 * before anything can come; each is called with `context`. flags: 0 or RMQ_AM_AGENT, alike on all ranks.
 * MPI_ERR_ARG, MPI_ERR_COMM. */
int rmq_am_create(MPI_Comm comm, int flags, int count, const rmq_am_handler* handlers, void* context, rmq_am* am);
/* Collective: first waits as rmq_am_flush_all does. Sets *am to NULL. */
int rmq_am_free(rmq_am* am);
/* Sets one handler, of which no message can be on its way: a message for a handler that is not set counts as a breach
 * of protocol, and its sender as lost. */
int rmq_am_set_handler(rmq_am am, int handler, rmq_am_handler function, void* context);
/* Collective: from now on long messages to this rank may name memory in [base, base + bytes), which stays the caller's,
 * and nothing that was attached before. NULL and SIZE_MAX: all memory. */
int rmq_am_attach(rmq_am am, void* base, size_t bytes);
/* What a rank has attached. */
int rmq_am_attached(rmq_am am, int rank, void** base, size_t* bytes);

/* Sends a request. `args` and `data` may be changed when the call returns; the message leaves at once, or with later
 * calls. Waits while 256 requests to that rank have not been handled. To oneself: the handler runs in the call. */
int rmq_am_request(rmq_am am, int target, int handler, const void* args, int args_bytes, const void* data,
                   size_t bytes);
/* The same with a long message: `data` goes to `place`, an address in what the target has attached (else
 * MPI_ERR_RMA_RANGE), before the handler runs. */
int rmq_am_request_long(rmq_am am, int target, int handler, const void* args, int args_bytes, const void* data,
                        size_t bytes, void* place);
/* In a handler: answers its message. The error is only returned: MPI_ERR_ARG, MPI_ERR_RMA_RANGE, or MPI_ERR_OTHER where
 * the message has been answered or is a reply itself. */
int rmq_am_reply(rmq_am_message* message, int handler, const void* args, int args_bytes, const void* data,
                 size_t bytes);
int rmq_am_reply_long(rmq_am_message* message, int handler, const void* args, int args_bytes, const void* data,
                      size_t bytes, void* place);

/* Handles what has come, without waiting. */
int rmq_am_poll(rmq_am am);
/* Waits until more than *handled handlers have run on this rank since the start, and says how many. Begin with 0. */
int rmq_am_wait(rmq_am am, unsigned long long* handled);
/* Waits until all requests that this rank has sent so far, to that rank or to all, have been handled, and their replies
 * too. */
int rmq_am_flush(rmq_am am, int target);
int rmq_am_flush_all(rmq_am am);

int rmq_am_get_counters(rmq_am am, rmq_am_counters* counters);

#ifdef __cplusplus
}
#endif
#endif
