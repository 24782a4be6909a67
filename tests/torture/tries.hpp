// SPDX-License-Identifier: BSD-3-Clause
// What a step tries in one call, with all that it makes and frees: C, as in content.hpp.
#pragma once

#include "content.hpp"

namespace torture {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"   // it is C as well
#pragma GCC diagnostic ignored "-Wunused-function"  // each source uses some
// clang-format off
TORTURE_BOTH(content_of_tries,
  static int copy_attribute(MPI_Comm comm, int keyval, void* counts, void* value, void* copy, int* flag) {
    (void)comm;
    (void)keyval;
    ((int*)counts)[0] += 1;
    *(void**)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
  }

  static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* counts) {
    (void)comm;
    (void)keyval;
    (void)value;
    ((int*)counts)[1] += 1;
    return MPI_SUCCESS;
  }

  static inline void try_attributes(int step, MPI_Comm comm, int many) {
    int counts[2] = {0, 0};
    int keyvals[4];
    MPI_Comm one;
    MPI_Comm two;
    void* value = 0;
    int flag = 0;
    must(MPI_Comm_dup(comm, &one), step, "MPI_Comm_dup");
    for (int i = 0; i < many; ++i) {
      must(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyvals[i], counts), step, "MPI_Comm_create_keyval");
      must(MPI_Comm_set_attr(one, keyvals[i], &keyvals[i]), step, "MPI_Comm_set_attr");
    }
    must(MPI_Comm_dup(one, &two), step, "MPI_Comm_dup");
    expect_equal(step, "attributes copied", counts[0], many);
    for (int i = 0; i < many; ++i) {
      must(MPI_Comm_get_attr(two, keyvals[i], &value, &flag), step, "MPI_Comm_get_attr");
      expect_equal(step, "attribute", flag && value == &keyvals[i], 1);
    }
    must(MPI_Comm_delete_attr(two, keyvals[0]), step, "MPI_Comm_delete_attr");
    must(MPI_Comm_get_attr(two, keyvals[0], &value, &flag), step, "MPI_Comm_get_attr");
    expect_equal(step, "attribute that was deleted", flag, 0);
    must(MPI_Comm_set_attr(one, keyvals[0], &flag), step, "MPI_Comm_set_attr");
    expect_equal(step, "attributes deleted", counts[1], 2);
    for (int i = 0; i < many; ++i) must(MPI_Comm_free_keyval(&keyvals[i]), step, "MPI_Comm_free_keyval");
    must(MPI_Comm_free(&two), step, "MPI_Comm_free");
    must(MPI_Comm_free(&one), step, "MPI_Comm_free");
    expect_equal(step, "attributes deleted", counts[1], 2 * many + 1);
  }

  static inline void try_infos(int step, int many) {
    MPI_Info one;
    MPI_Info two;
    char key[20];
    char value[20];
    int is = 0;
    must(MPI_Info_create(&one), step, "MPI_Info_create");
    for (int i = 0; i < many; ++i) {
      snprintf(key, sizeof key, "key %d", i);
      must(MPI_Info_set(one, key, "before"), step, "MPI_Info_set");
      must(MPI_Info_set(one, key, key + 4), step, "MPI_Info_set");
    }
    must(MPI_Info_dup(one, &two), step, "MPI_Info_dup");
    must(MPI_Info_delete(one, "key 0"), step, "MPI_Info_delete");
    must(MPI_Info_get_nkeys(one, &is), step, "MPI_Info_get_nkeys");
    expect_equal(step, "keys of the first info", is, many - 1);
    must(MPI_Info_get_nkeys(two, &is), step, "MPI_Info_get_nkeys");
    expect_equal(step, "keys of its copy", is, many);
    for (int i = 0; i < many; ++i) {
      must(MPI_Info_get_nthkey(two, i, key), step, "MPI_Info_get_nthkey");
      must(MPI_Info_get(two, key, 19, value, &is), step, "MPI_Info_get");
      expect_equal(step, "value of a key", is && atoi(value) == atoi(key + 4), 1);
    }
    must(MPI_Info_free(&one), step, "MPI_Info_free");
    must(MPI_Info_free(&two), step, "MPI_Info_free");
  }

  static inline void add_again(int step, unsigned* out, int words, int target, MPI_Aint at, unsigned key, int times, MPI_Win window) {
    for (int i = 0; i < times; ++i) {
      fill(out, 0, 1, 1, words, key + (unsigned)i, 0);
      must(MPI_Accumulate(out, words, MPI_UNSIGNED, target, at, words, MPI_UNSIGNED, MPI_SUM, window), step, "MPI_Accumulate");
      must(MPI_Win_flush_local(target, window), step, "MPI_Win_flush_local");
    }
  }

  static inline void add_zeros(int step, unsigned* out, int words, int target, MPI_Aint at, int times, MPI_Win window) {
    for (int i = 0; i < words; ++i) out[i] = 0;
    for (int i = 0; i < times; ++i)
      must(MPI_Accumulate(out, words, MPI_UNSIGNED, target, at, words, MPI_UNSIGNED, MPI_SUM, window), step, "MPI_Accumulate");
  }

  static inline void hand_on(int step, unsigned* out, unsigned* in, int how, int target, MPI_Aint at, unsigned value, MPI_Win window) {
    out[0] = value;
    out[1] = value - 1;
    if (how == 0) must(MPI_Accumulate(out, 1, MPI_UNSIGNED, target, at, 1, MPI_UNSIGNED, MPI_REPLACE, window), step, "MPI_Accumulate");
    if (how == 1) must(MPI_Fetch_and_op(out, in, MPI_UNSIGNED, target, at, MPI_REPLACE, window), step, "MPI_Fetch_and_op");
    if (how == 2) must(MPI_Get_accumulate(out, 1, MPI_UNSIGNED, in, 1, MPI_UNSIGNED, target, at, 1, MPI_UNSIGNED, MPI_REPLACE, window), step, "MPI_Get_accumulate");
    if (how == 3) must(MPI_Put(out, 1, MPI_UNSIGNED, target, at, 1, MPI_UNSIGNED, window), step, "MPI_Put");
    if (how == 4) must(MPI_Compare_and_swap(out, out + 1, in, MPI_UNSIGNED, target, at, window), step, "MPI_Compare_and_swap");
  }

  static inline void await_hand(int step, unsigned* in, unsigned* cell, int fetches, int me, MPI_Aint at, unsigned value, MPI_Comm comm, MPI_Win window) {
    unsigned seen = 0;
    int flag;
    while (seen != value) {
      if (fetches) {
        must(MPI_Fetch_and_op(in + 1, in + 1, MPI_UNSIGNED, me, at, MPI_NO_OP, window), step, "MPI_Fetch_and_op");
        must(MPI_Win_flush(me, window), step, "MPI_Win_flush");
        seen = in[1];
      } else {
        must(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE), step, "MPI_Iprobe");
        must(MPI_Win_sync(window), step, "MPI_Win_sync");
        seen = *(volatile unsigned*)cell;
      }
    }
  }

  static inline void try_comms(int step, MPI_Comm comm, int many) {
    MPI_Comm made[100];
    MPI_Request sent[100];
    MPI_Request received[100];
    int out[100];
    int in[100];
    int size = 0;
    int me = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < many; ++i) {
      must(MPI_Comm_dup(i == 0 || i % 3 ? comm : made[i / 2], &made[i]), step, "MPI_Comm_dup");
      must(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made[i], &received[i]), step, "MPI_Irecv");
    }
    for (int i = many; i-- > 0;) {
      out[i] = 1000 * i + me;
      must(MPI_Isend(&out[i], 1, MPI_INT, (me + 1) % size, i % 2, made[i], &sent[i]), step, "MPI_Isend");
    }
    must(MPI_Waitall(many, received, MPI_STATUSES_IGNORE), step, "MPI_Waitall");
    must(MPI_Waitall(many, sent, MPI_STATUSES_IGNORE), step, "MPI_Waitall");
    for (int i = 0; i < many; ++i) expect_equal(step, "what came on one of many communicators", in[i], 1000 * i + (me + size - 1) % size);
    for (int i = 0; i < many; ++i) must(MPI_Comm_free(&made[(i * 7 + 3) % many]), step, "MPI_Comm_free");
  }

  static inline void scribble(unsigned* at, int words) {
    unsigned* kept = (unsigned*)malloc((size_t)words * sizeof(unsigned));
    for (int k = 0; k < words; ++k) kept[k] = at[k];
    for (int k = 0; k < words; ++k) ((volatile unsigned*)at)[k] = ~kept[k];
    usleep(100);
    for (int k = 0; k < words; ++k) at[k] = kept[k];
    free(kept);
  }

  static inline void open_board(int step, MPI_Comm comm, unsigned** board, int root) {
    int me = 0;
    int size = 0;
    int file = 0;
    const char* folder = getenv("TMPDIR");
    make(board, 64);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    if (me != root) {
      must(MPI_Recv(*board, 64, MPI_UNSIGNED, root, step + 1, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
      return;
    }
    snprintf((char*)*board, 256, "%s/board-XXXXXX", folder ? folder : "/tmp");
    file = mkstemp((char*)*board);
    if (file < 0) failed(step, "mkstemp", 0, 1, 0);
    close(file);
    for (int to = 0; to < size; ++to) {
      if (to != me) must(MPI_Send(*board, 64, MPI_UNSIGNED, to, step + 1, comm), step, "MPI_Send");
    }
  }

  static inline void leave_mark(unsigned* board) {
    FILE* file = fopen((char*)board, "a");
    fputc(1, file);
    fclose(file);
  }

  static inline void await_marks(unsigned* board, long marks) {
    for (long left = 0; left < marks; usleep(300)) {
      FILE* file = fopen((char*)board, "r");
      fseek(file, 0, SEEK_END);
      left = ftell(file);
      fclose(file);
    }
  }

  static inline void close_board(int step, MPI_Comm comm, unsigned** board) {
    int me = 0;
    MPI_Comm_rank(comm, &me);
    must(MPI_Barrier(comm), step, "MPI_Barrier");
    if (me == 0) remove((char*)*board);
    drop(board);
  }

  static inline void expect_error(int step, const char* what, int code, int want) {
    int is = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &is);
    expect_equal(step, what, is, want);
  }

  static inline void try_errors(int step, MPI_Comm comm) {
    MPI_Comm c;
    MPI_Request request;
    MPI_Status status;
    int size = 0;
    int me = 0;
    int two[2] = {1, 2};
    int one = 0;
    must(MPI_Comm_dup(comm, &c), step, "MPI_Comm_dup");
    must(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN), step, "MPI_Comm_set_errhandler");
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &me);
    expect_error(step, "wrong rank", MPI_Send(two, 1, MPI_INT, size, 0, c), MPI_ERR_RANK);
    expect_error(step, "wrong tag", MPI_Send(two, 1, MPI_INT, me, -5, c), MPI_ERR_TAG);
    expect_error(step, "wrong count", MPI_Isend(two, -1, MPI_INT, me, 0, c, &request), MPI_ERR_COUNT);
    expect_error(step, "wrong type", MPI_Send(two, 1, MPI_DATATYPE_NULL, me, 0, c), MPI_ERR_TYPE);
    expect_error(step, "wrong root", MPI_Bcast(two, 1, MPI_INT, size, c), MPI_ERR_ROOT);
    must(MPI_Isend(two, 2, MPI_INT, me, 0, c, &request), step, "MPI_Isend");
    expect_error(step, "truncation", MPI_Recv(&one, 1, MPI_INT, me, 0, c, &status), MPI_ERR_TRUNCATE);
    must(MPI_Wait(&request, &status), step, "MPI_Wait");
    must(MPI_Allreduce(two, &one, 1, MPI_INT, MPI_SUM, c), step, "MPI_Allreduce");
    expect_equal(step, "sum after errors", one, size);
    must(MPI_Comm_free(&c), step, "MPI_Comm_free");
  }
)
#if MPI_VERSION >= 4
#define TORTURE_BELOW_4(text, ...) inline constexpr const char* text = #__VA_ARGS__;
TORTURE_BOTH(content_of_4,
  static inline void try_session(int step, int* ranks, int count, int rank) {
    MPI_Session session;
    MPI_Group all;
    MPI_Group some;
    MPI_Comm comm;
    char tag[40];
    int one = 1;
    int is = 0;
    snprintf(tag, sizeof tag, "torture %d", step);
    must(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), step, "MPI_Session_init");
    must(MPI_Group_from_session_pset(session, "mpi://WORLD", &all), step, "MPI_Group_from_session_pset");
    must(MPI_Group_incl(all, count, ranks, &some), step, "MPI_Group_incl");
    must(MPI_Comm_create_from_group(some, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), step, "MPI_Comm_create_from_group");
    expect_size(step, comm, count, rank);
    must(MPI_Allreduce(&one, &is, 1, MPI_INT, MPI_SUM, comm), step, "MPI_Allreduce");
    expect_equal(step, "sum in a session", is, count);
    must(MPI_Group_free(&some), step, "MPI_Group_free");
    must(MPI_Group_free(&all), step, "MPI_Group_free");
    must(MPI_Comm_free(&comm), step, "MPI_Comm_free");
    must(MPI_Session_finalize(&session), step, "MPI_Session_finalize");
  }
  static inline void await_partition(int step, MPI_Request request, int partition) {
    int flag = 0;
    while (!flag) must(MPI_Parrived(request, partition, &flag), step, "MPI_Parrived");
  }

  static inline void begin_partitions(int step, unsigned* at, int parts, int words, int peer, int sends, MPI_Comm comm, MPI_Request* request) {
    if (sends) must(MPI_Psend_init(at, parts, words / parts, MPI_UNSIGNED, peer, 5, comm, MPI_INFO_NULL, request), step, "MPI_Psend_init");
    if (!sends) must(MPI_Precv_init(at, parts, words / parts, MPI_UNSIGNED, peer, 5, comm, MPI_INFO_NULL, request), step, "MPI_Precv_init");
    must(MPI_Start(request), step, "MPI_Start");
    for (int part = 0; sends && part < parts; ++part) must(MPI_Pready((part + 1) % parts, *request), step, "MPI_Pready");
  }
)
#else
inline constexpr const char* content_of_4 = "";
#define TORTURE_BELOW_4 TORTURE_BOTH
#endif
TORTURE_BELOW_4(content_below_4,
  static inline void begin_partitions(int step, unsigned* at, int parts, int words, int peer, int sends, MPI_Comm comm, MPI_Request* request) {
    (void)parts;
    if (sends) must(MPI_Send_init(at, words, MPI_UNSIGNED, peer, 5, comm, request), step, "MPI_Send_init");
    if (!sends) must(MPI_Recv_init(at, words, MPI_UNSIGNED, peer, 5, comm, request), step, "MPI_Recv_init");
    must(MPI_Start(request), step, "MPI_Start");
  }
)
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
TORTURE_BOTH(content_of_4_1,
  static inline void try_buffers(int step, MPI_Comm comm, int many, int words, unsigned key) {
    MPI_Comm c;
    int size = 0;
    int me = 0;
    void* buffer = 0;
    unsigned* out;
    unsigned* in;
    int bytes = many * (4 * words + MPI_BSEND_OVERHEAD);
    must(MPI_Comm_dup(comm, &c), step, "MPI_Comm_dup");
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &me);
    must(MPI_Comm_attach_buffer(c, malloc((size_t)bytes), bytes), step, "MPI_Comm_attach_buffer");
    make(&out, words);
    make(&in, words);
    for (int i = 0; i < many; ++i) {
      fill(out, 0, 1, 1, words, key + (unsigned)me, i);
      must(MPI_Bsend(out, words, MPI_UNSIGNED, (me + 1) % size, i, c), step, "MPI_Bsend");
      blank(out, words);
    }
    for (int i = 0; i < many; ++i) {
      int from = (me + size - 1) % size;
      must(MPI_Recv(in, words, MPI_UNSIGNED, from, i, c, MPI_STATUS_IGNORE), step, "MPI_Recv");
      expect(step, in, 0, 1, 1, words, key + (unsigned)from, 1, i);
    }
    must(MPI_Comm_flush_buffer(c), step, "MPI_Comm_flush_buffer");
    must(MPI_Comm_detach_buffer(c, &buffer, &bytes), step, "MPI_Comm_detach_buffer");
    expect_equal(step, "size of the buffer", bytes, many * (4 * words + MPI_BSEND_OVERHEAD));
    free(buffer);
    expect_no_more(step, &out, words);
    expect_no_more(step, &in, words);
    must(MPI_Comm_free(&c), step, "MPI_Comm_free");
  }
)
#else
inline constexpr const char* content_of_4_1 = "";
#endif
// clang-format on
#pragma GCC diagnostic pop
}  // namespace torture
