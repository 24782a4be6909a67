/* SPDX-License-Identifier: BSD-3-Clause */
/* GASNet on RMQ's active messages: what GASNet's mpi conduit asks of its message layer (ammpi.h), by rmq_am.h instead
 * of sends and receives. Compiled against GASNet's own headers it takes the place of libammpi.a; design/systems.md says
 * how.
 *
 * GASNet's words are 32 bits; the arguments here are its words and, behind them, as many bytes as the category of the
 * message says (short 0, medium 1, long 2). All memory is attached: GASNet checks its places itself.
 *
 * One endpoint. A process that leaves tells the others, who leave at their next poll: the handler that hears of it may
 * not end MPI. */
#include <ammpi.h>
#include <ammpi_spmd.h>
#include <mpi.h>
#include <rmq_am.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int AMX_VerboseErrors = 0, AMX_SilentMode = 0;
const char* AMX_ProcessLabel = "";
void (*AMMPI_SPMDkillmyprocess)(int) = &_exit;

struct ammpi_eb {
  int unused;
};
struct ammpi_ep {
  rmq_am data, control;
  MPI_Comm comm;
  ammpi_handler_fn_t functions[RMQ_AM_HANDLERS];
  AMMPI_preHandlerCallback_t before;
  AMMPI_postHandlerCallback_t after;
};

/* What GASNet's handlers get for a token. */
typedef struct {
  rmq_am_message* message;
  ammpi_category_t category;
  int is_request;
} Token;

static struct ammpi_eb bundle;
static struct ammpi_ep endpoint;
static int my_rank, all_ranks;
static int leaving, leaving_code; /* another process has left */
static void (*exit_callback)(int);

void AMX_FatalErr(const char* message, ...) {
  va_list all;
  va_start(all, message);
  fprintf(stderr, "*** FATAL ERROR: ");
  vfprintf(stderr, message, all);
  fprintf(stderr, "\n");
  va_end(all);
  abort();
}

/* ---- handlers ---- */

#define W(i) , w[i]
#define W0
#define W1 W0 W(0)
#define W2 W1 W(1)
#define W3 W2 W(2)
#define W4 W3 W(3)
#define W5 W4 W(4)
#define W6 W5 W(5)
#define W7 W6 W(6)
#define W8 W7 W(7)
#define W9 W8 W(8)
#define W10 W9 W(9)
#define W11 W10 W(10)
#define W12 W11 W(11)
#define W13 W12 W(12)
#define W14 W13 W(13)
#define W15 W14 W(14)
#define W16 W15 W(15)
#define I , int32_t
#define I0
#define I1 I0 I
#define I2 I1 I
#define I3 I2 I
#define I4 I3 I
#define I5 I4 I
#define I6 I5 I
#define I7 I6 I
#define I8 I7 I
#define I9 I8 I
#define I10 I9 I
#define I11 I10 I
#define I12 I11 I
#define I13 I12 I
#define I14 I13 I
#define I15 I14 I
#define I16 I15 I
#define CASE(n)                                                                              \
  case n:                                                                                    \
    if (t->category == ammpi_Short)                                                          \
      ((void (*)(void* I##n))f)(t W##n);                                                     \
    else                                                                                     \
      ((void (*)(void*, void*, size_t I##n))f)(t, t->message->data, t->message->bytes W##n); \
    break;

static void call(ammpi_handler_fn_t f, Token* t, int words, const int32_t* w) {
  switch (words) {
    /* clang-format off */
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
    CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
    /* clang-format on */
  }
}

static int in_handler;

static void on_message(rmq_am_message* m, void* unused) {
  (void)unused;
  ++in_handler;
  Token t = {m, (ammpi_category_t)(m->args_bytes % 4), m->may_reply};
  const int words = m->args_bytes / 4;
  if (endpoint.before)
    endpoint.before(t.category, t.is_request, m->handler, &t, m->data, m->bytes, words, (uint32_t*)(uintptr_t)m->args);
  call(endpoint.functions[m->handler], &t, words, m->args);
  if (endpoint.after) endpoint.after(t.category, t.is_request);
  --in_handler;
}

static void on_leave(rmq_am_message* m, void* unused) {
  (void)unused;
  leaving = 1;
  memcpy(&leaving_code, m->args, sizeof leaving_code);
}

/* ---- start and end ---- */

int AMMPI_SPMDSetThreadMode(int threads, const char** provided_level, int* argc, char*** argv) {
  static const char* const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                      "MPI_THREAD_MULTIPLE"};
  int began, provided;
  MPI_Initialized(&began);
  if (began)
    MPI_Query_thread(&provided);
  else
    MPI_Init_thread(argc, argv, threads ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &provided);
  *provided_level = names[provided == MPI_THREAD_MULTIPLE     ? 3
                          : provided == MPI_THREAD_SERIALIZED ? 2
                          : provided == MPI_THREAD_FUNNELED   ? 1
                                                              : 0];
  return !threads || provided >= MPI_THREAD_SERIALIZED;
}

int AMMPI_SPMDStartup(int* argc, char*** argv, int depth, uint64_t* network_pid, eb_t* eb, ep_t* ep) {
  int began;
  (void)depth;
  MPI_Initialized(&began);
  if (!began) MPI_Init(argc, argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &endpoint.comm);
  MPI_Comm_rank(endpoint.comm, &my_rank);
  MPI_Comm_size(endpoint.comm, &all_ranks);
  static const rmq_am_handler control[] = {on_leave};
  rmq_am_create(endpoint.comm, 0, 1, control, NULL, &endpoint.control);
  static rmq_am_handler all[RMQ_AM_HANDLERS];
  for (int i = 0; i < RMQ_AM_HANDLERS; ++i) all[i] = on_message;
  rmq_am_create(endpoint.comm, 0, RMQ_AM_HANDLERS, all, NULL, &endpoint.data);
  if (network_pid) {
    *network_pid = (uint64_t)getpid();
    MPI_Bcast(network_pid, 8, MPI_BYTE, 0, endpoint.comm);
  }
  *eb = &bundle;
  *ep = &endpoint;
  return AM_OK;
}

static void shut_down(int code) {
  int over;
  if (exit_callback) exit_callback(code);
  fflush(stdout);
  fflush(stderr);
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
  AMMPI_SPMDkillmyprocess(code);
}

int AMMPI_SPMDExit(int code) {
  if (in_handler) { /* which may not call MPI: the launcher ends the others */
    if (exit_callback) exit_callback(code);
    fflush(stdout);
    AMMPI_SPMDkillmyprocess(code);
  }
  for (int r = 0; r < all_ranks; ++r)
    if (r != my_rank) rmq_am_request(endpoint.control, r, 0, &code, sizeof code, NULL, 0);
  shut_down(code);
  return AM_OK;
}

int AMMPI_SPMDSetExitCallback(void (*callback)(int)) {
  exit_callback = callback;
  return AM_OK;
}

int AMMPI_SPMDNumProcs(void) {
  return all_ranks;
}
int AMMPI_SPMDMyProc(void) {
  return my_rank;
}

static void leave_if_told(void) {
  if (!leaving) return;
  leaving = 0;
  shut_down(leaving_code);
}

int AM_Poll(eb_t eb) {
  (void)eb;
  rmq_am_poll(endpoint.data);
  leave_if_told();
  return AM_OK;
}

int AMMPI_SPMDBarrier(void) {
  MPI_Request barrier;
  int done = 0;
  fflush(stdout);
  fflush(stderr);
  MPI_Ibarrier(endpoint.comm, &barrier);
  while (!done) {
    MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    leave_if_told();
  }
  return AM_OK;
}
int AMMPI_SPMDAllGather(void* from, void* to, size_t bytes) {
  MPI_Allgather(from, (int)bytes, MPI_BYTE, to, (int)bytes, MPI_BYTE, endpoint.comm);
  return AM_OK;
}
int AMMPI_SPMDBroadcast(void* data, size_t bytes, int root) {
  MPI_Bcast(data, (int)bytes, MPI_BYTE, root, endpoint.comm);
  return AM_OK;
}

int AM_SetSeg(ep_t ep, void* base, uintptr_t bytes) {
  return rmq_am_attach(ep->data, base, bytes) == MPI_SUCCESS ? AM_OK : AM_ERR_RESOURCE;
}
int _AM_SetHandler(ep_t ep, handler_t handler, ammpi_handler_fn_t function) {
  ep->functions[handler] = function;
  return AM_OK;
}
int AMMPI_SetHandlerCallbacks(ep_t ep, AMMPI_preHandlerCallback_t before, AMMPI_postHandlerCallback_t after) {
  ep->before = before;
  ep->after = after;
  return AM_OK;
}

/* ---- messages ---- */

typedef struct {
  int32_t words[AMMPI_MAX_SHORT + 1];
  int bytes;
} Args;

static Args args_of(ammpi_category_t category, int words, va_list all) {
  Args a;
  for (int i = 0; i < words; ++i) a.words[i] = (int32_t)va_arg(all, int);
  a.words[words] = 0;
  a.bytes = words * 4 + (int)category;
  return a;
}

static int result(int code) {
  return code == MPI_SUCCESS ? AM_OK : AM_ERR_RESOURCE;
}

int AMMPI_RequestVA(ep_t ep, ammpi_node_t to, handler_t handler, int words, va_list all) {
  const Args a = args_of(ammpi_Short, words, all);
  const int code = rmq_am_request(ep->data, (int)to, handler, a.words, a.bytes, NULL, 0);
  leave_if_told();
  return result(code);
}
int AMMPI_RequestIVA(ep_t ep, ammpi_node_t to, handler_t handler, void* from, size_t bytes, int words, va_list all) {
  const Args a = args_of(ammpi_Medium, words, all);
  const int code = rmq_am_request(ep->data, (int)to, handler, a.words, a.bytes, from, bytes);
  leave_if_told();
  return result(code);
}
int AMMPI_RequestXferVA(ep_t ep, ammpi_node_t to, handler_t handler, void* from, size_t bytes, uintptr_t place,
                        int async, int words, va_list all) {
  (void)async; /* the data has left when the call returns */
  const Args a = args_of(ammpi_Long, words, all);
  const int code = rmq_am_request_long(ep->data, (int)to, handler, a.words, a.bytes, from, bytes, (void*)place);
  leave_if_told();
  return result(code);
}
int AMMPI_ReplyVA(void* token, handler_t handler, int words, va_list all) {
  const Args a = args_of(ammpi_Short, words, all);
  return result(rmq_am_reply(((Token*)token)->message, handler, a.words, a.bytes, NULL, 0));
}
int AMMPI_ReplyIVA(void* token, handler_t handler, void* from, size_t bytes, int words, va_list all) {
  const Args a = args_of(ammpi_Medium, words, all);
  return result(rmq_am_reply(((Token*)token)->message, handler, a.words, a.bytes, from, bytes));
}
int AMMPI_ReplyXferVA(void* token, handler_t handler, void* from, size_t bytes, uintptr_t place, int words,
                      va_list all) {
  const Args a = args_of(ammpi_Long, words, all);
  return result(rmq_am_reply_long(((Token*)token)->message, handler, a.words, a.bytes, from, bytes, (void*)place));
}

int AMMPI_GetSourceId(void* token, int* source) {
  *source = ((Token*)token)->message->source;
  return AM_OK;
}
int AMMPI_GetTokenInfo(void* token, handler_t* handler, ammpi_category_t* category, int* is_request) {
  const Token* const t = token;
  *handler = (handler_t)t->message->handler;
  *category = t->category;
  *is_request = t->is_request;
  return AM_OK;
}
