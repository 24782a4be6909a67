// What messages contain and how it is checked: C that the generator compiles, and that a printed program begins with
// (the macro keeps the text). A buffer is an array of words; a layout says at which word of an element its k-th word of
// data lies.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): one text that runs and is printed
#define TORTURE_BOTH(text, ...) __VA_ARGS__ inline constexpr const char* text = #__VA_ARGS__;

namespace torture {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"   // it is C as well
#pragma GCC diagnostic ignored "-Wunused-function"  // each source uses some
// clang-format off
TORTURE_BOTH(content_text,
  static const unsigned nothing = 0xEEEEEEEEu;

  static inline void failed(int step, const char* what, long at, unsigned got, unsigned want) {
    int rank;
    const char* seed = getenv("TORTURE_SEED");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "seed %s, rank %d, step %d: %s: word %ld is %u and should be %u\n", seed ? seed : "-", rank, step, what, at, got, want);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }

  static inline void must(int code, int step, const char* call) {
    char words[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, words, &length);
    fprintf(stderr, "%s: %s\n", call, words);
    failed(step, call, 0, (unsigned)code, MPI_SUCCESS);
  }

  static inline unsigned word(unsigned key, unsigned k) {
    unsigned x = key * 2654435761u + k * 2246822519u;
    return x ^ (x >> 15);
  }

  static inline void make(unsigned** buffer, int words) {
    *buffer = (unsigned*)malloc(((size_t)words + 1) * sizeof(unsigned));
    for (int i = 0; i <= words; ++i) (*buffer)[i] = nothing;
  }

  static inline void drop(unsigned** buffer) {
    free(*buffer);
    *buffer = 0;
  }

  static inline long place(const int* layout, int size, int extent, long k) {
    return layout ? k / size * extent + layout[k % size] : k;
  }

  static inline void fill(unsigned* at, const int* layout, int size, int extent, int words, unsigned key, int first) {
    for (int k = 0; k < words; ++k) at[place(layout, size, extent, k)] = word(key, (unsigned)(first + k));
  }

  static inline void expect(int step, unsigned* at, const int* layout, int size, int extent, int words, unsigned key,
                     int members, int first) {
    for (int k = 0; k < words; ++k) {
      unsigned want = 0;
      for (int m = 0; m < members; ++m) want += word(key + (unsigned)m, (unsigned)(first + k));
      unsigned* it = at + place(layout, size, extent, k);
      if (*it != want) failed(step, "contents", k, *it, want);
      *it = nothing;
    }
  }

  static inline void blank(unsigned* at, int words) {
    for (int i = 0; i < words; ++i) at[i] = nothing;
  }

  static inline void expect_blank(int step, unsigned* at, int words) {
    for (int i = 0; i < words; ++i)
      if (at[i] != nothing) failed(step, "outside of the message", i, at[i], nothing);
  }

  static inline void expect_no_more(int step, unsigned** buffer, int words) {
    expect_blank(step, *buffer, words + 1);
    free(*buffer);
    *buffer = 0;
  }

  static inline void complete(int step, int way, MPI_Request* request, MPI_Status* status) {
    int flag = 0;
    int index = 0;
    if (way == 0) must(MPI_Wait(request, status), step, "MPI_Wait");
    if (way == 1) while (!flag) must(MPI_Test(request, &flag, status), step, "MPI_Test");
    if (way == 2) must(MPI_Waitall(1, request, status), step, "MPI_Waitall");
    if (way == 3) must(MPI_Waitany(1, request, &index, status), step, "MPI_Waitany");
    if (way == 4) {
      while (!flag) must(MPI_Request_get_status(*request, &flag, status), step, "MPI_Request_get_status");
      must(MPI_Wait(request, status), step, "MPI_Wait");
    }
    if (way == 5) while (!flag) must(MPI_Testsome(1, request, &flag, &index, status), step, "MPI_Testsome");
  }

  static inline void expect_count(int step, MPI_Status* status, int source, int tag, int words) {
    int bytes = -1;
    MPI_Get_elements(status, MPI_UNSIGNED, &bytes);
    if (bytes != words) failed(step, "elements in status", 0, (unsigned)bytes, (unsigned)words);
    if (status->MPI_SOURCE != source) failed(step, "source", 0, (unsigned)status->MPI_SOURCE, (unsigned)source);
    if (status->MPI_TAG != tag) failed(step, "tag", 0, (unsigned)status->MPI_TAG, (unsigned)tag);
  }

  static inline void attach_buffer(int bytes) {
    must(MPI_Buffer_attach(malloc((size_t)bytes), bytes), -1, "MPI_Buffer_attach");
  }

  static inline void detach_buffer(void) {
    void* buffer = 0;
    int bytes = 0;
    must(MPI_Buffer_detach(&buffer, &bytes), -1, "MPI_Buffer_detach");
    free(buffer);
  }

  static inline void poll_message(int step, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    int flag = 0;
    while (!flag) must(MPI_Improbe(source, tag, comm, &flag, message, status), step, "MPI_Improbe");
  }

  static inline void expect_cancelled(int step, MPI_Status* status) {
    int flag = 0;
    MPI_Test_cancelled(status, &flag);
    if (!flag) failed(step, "cancelled", 0, 0, 1);
  }

  static inline void cancel_send(int step, MPI_Request* request, MPI_Status* status, int to, int tag, MPI_Comm comm) {
    int flag = 0;
    must(MPI_Cancel(request), step, "MPI_Cancel");
    must(MPI_Wait(request, status), step, "MPI_Wait");
    MPI_Test_cancelled(status, &flag);
    must(MPI_Send(&flag, 1, MPI_INT, to, tag, comm), step, "MPI_Send");
  }

  static inline void receive_what_was_sent(int step, unsigned* at, int words, int from, int tag, MPI_Comm comm, unsigned key) {
    int cancelled = 0;
    int there = 0;
    must(MPI_Recv(&cancelled, 1, MPI_INT, from, tag + 1000, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
    must(MPI_Iprobe(from, tag, comm, &there, MPI_STATUS_IGNORE), step, "MPI_Iprobe");
    if (cancelled && there) failed(step, "message that was cancelled", 0, 1, 0);
    if (cancelled) return;
    must(MPI_Recv(at, words, MPI_UNSIGNED, from, tag, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
    expect(step, at, 0, 1, 1, words, key, 1, 0);
  }

  static inline void cancel_receive(int step, MPI_Request* request, MPI_Status* status, unsigned* at, int words, int from,
                             int tag, MPI_Comm comm) {
    int flag = 0;
    must(MPI_Cancel(request), step, "MPI_Cancel");
    must(MPI_Wait(request, status), step, "MPI_Wait");
    MPI_Test_cancelled(status, &flag);
    if (flag) must(MPI_Recv(at, words, MPI_UNSIGNED, from, tag, comm, status), step, "MPI_Recv");
  }

  static inline void expect_from(int step, unsigned* at, MPI_Status* status, int words, unsigned key) {
    expect(step, at, 0, 1, 1, words, key + (unsigned)status->MPI_SOURCE, 1, 0);
  }

  static inline void expect_size(int step, MPI_Comm comm, int size, int rank) {
    int is = -1;
    MPI_Comm_size(comm, &is);
    if (is != size) failed(step, "size of communicator", 0, (unsigned)is, (unsigned)size);
    MPI_Comm_rank(comm, &is);
    if (is != rank) failed(step, "rank in communicator", 0, (unsigned)is, (unsigned)rank);
  }

  static inline void expect_inter(int step, MPI_Comm comm, int size, int remote, int rank) {
    int is = -1;
    MPI_Comm_test_inter(comm, &is);
    if (!is) failed(step, "kind of communicator", 0, 0, 1);
    MPI_Comm_remote_size(comm, &is);
    if (is != remote) failed(step, "size of the remote group", 0, (unsigned)is, (unsigned)remote);
    expect_size(step, comm, size, rank);
  }

  static inline void same_types(MPI_Datatype** types, int count, MPI_Datatype type) {
    *types = (MPI_Datatype*)malloc((size_t)count * sizeof(MPI_Datatype));
    for (int i = 0; i < count; ++i) (*types)[i] = type;
  }

  static inline void word_types(MPI_Datatype** types, int count) { same_types(types, count, MPI_UNSIGNED); }

  static inline void set_type(MPI_Datatype** types, int i, int kind) {
    (*types)[i] = kind == 0 ? MPI_CHAR : kind == 1 ? MPI_SHORT : kind == 2 ? MPI_INT : MPI_DOUBLE;
  }

  static inline void drop_types(MPI_Datatype** types) {
    free(*types);
    *types = 0;
  }

  static inline void fill_bytes(unsigned char* at, int bytes, unsigned key, int first) {
    for (int k = 0; k < bytes; ++k) at[k] = (unsigned char)word(key, (unsigned)(first + k));
  }

  static inline void expect_bytes(int step, unsigned char* at, int bytes, unsigned key, int first) {
    for (int k = 0; k < bytes; ++k) {
      unsigned char want = (unsigned char)word(key, (unsigned)(first + k));
      if (at[k] != want) failed(step, "byte", k, at[k], want);
      at[k] = 0xEE;
    }
  }

  static inline void pack(int step, unsigned* from, int count, MPI_Datatype type, unsigned* to, int words, MPI_Comm comm,
                   unsigned* bytes) {
    int at = 0;
    int bound = 0;
    must(MPI_Pack_size(count, type, comm, &bound), step, "MPI_Pack_size");
    must(MPI_Pack(from, count, type, to, 4 * words, &at, comm), step, "MPI_Pack");
    if (at > bound) failed(step, "bytes packed", 0, (unsigned)at, (unsigned)bound);
    *bytes = (unsigned)at;
  }

  static inline void pack_external(int step, unsigned* from, int count, MPI_Datatype type, unsigned* to, int words, int want,
                            unsigned* bytes) {
    MPI_Aint at = 0;
    must(MPI_Pack_external("external32", from, count, type, to, 4 * words, &at), step, "MPI_Pack_external");
    if (at != want) failed(step, "bytes packed", 0, (unsigned)at, (unsigned)want);
    *bytes = (unsigned)at;
  }

  static inline void send_packed(int step, unsigned* from, unsigned* bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request* request) {
    must(MPI_Isend(from, (int)*bytes, type, to, tag, comm, request), step, "MPI_Isend");
  }

  static inline void unpack(int step, unsigned* from, MPI_Status* status, unsigned* to, int count, MPI_Datatype type,
                     MPI_Comm comm) {
    int at = 0;
    int bytes = 0;
    must(MPI_Get_count(status, MPI_PACKED, &bytes), step, "MPI_Get_count");
    must(MPI_Unpack(from, bytes, &at, to, count, type, comm), step, "MPI_Unpack");
    if (at != bytes) failed(step, "bytes unpacked", 0, (unsigned)at, (unsigned)bytes);
  }

  static inline void unpack_external(int step, unsigned* from, int bytes, unsigned* to, int count, MPI_Datatype type) {
    MPI_Aint at = 0;
    must(MPI_Unpack_external("external32", from, bytes, &at, to, count, type), step, "MPI_Unpack_external");
    if (at != bytes) failed(step, "bytes unpacked", 0, (unsigned)at, (unsigned)bytes);
  }

  static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
    unsigned* a = (unsigned*)in;
    unsigned* b = (unsigned*)inout;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
      b[i + 1] = a[i + 1] * b[i] + b[i + 1];
      b[i] = a[i] * b[i];
    }
  }

  static inline void fill_pairs(unsigned* at, int pairs, unsigned key, int rank, int operation) {
    for (int i = 0; i < pairs; ++i) {
      unsigned x = word(key + (unsigned)rank, (unsigned)i);
      at[2 * i] = operation ? x % 17u : x | 1u;
      at[2 * i + 1] = operation ? (unsigned)rank : x >> 7;
    }
  }

  static inline void expect_pairs(int step, unsigned* at, int pairs, unsigned key, int from, int members, int operation) {
    int one = 1;
    unsigned next[2];
    unsigned want[2];
    for (int i = 0; i < pairs; ++i) {
      for (int m = from; m < from + members; ++m) {
        unsigned x = word(key + (unsigned)m, (unsigned)i);
        next[0] = operation ? x % 17u : x | 1u;
        next[1] = operation ? (unsigned)m : x >> 7;
        if (operation == 0 && m > from) compose(want, next, &one, 0);
        if (operation == 1 && m > from && want[0] <= next[0]) continue;
        if (operation == 2 && m > from && want[0] >= next[0]) continue;
        want[0] = next[0];
        want[1] = next[1];
      }
      for (int k = 0; k < 2; ++k) {
        if (at[2 * i + k] != want[k]) failed(step, "pair", 2 * i + k, at[2 * i + k], want[k]);
        at[2 * i + k] = nothing;
      }
    }
  }

  static inline void set_number(unsigned* at, unsigned value) { *at = value; }

  static inline void expect_number(int step, unsigned* at, unsigned want) {
    if (*at != want) failed(step, "number", 0, *at, want);
    *at = nothing;
  }

  static inline void expect_below(int step, unsigned* at, unsigned bound) {
    if (*at >= bound) failed(step, "number that has a bound", 0, *at, bound);
    *at = nothing;
  }

  static inline void fill_whole(unsigned* at, int words, unsigned key, unsigned version) {
    at[0] = version;
    for (int k = 1; k < words; ++k) at[k] = word(key + version, (unsigned)k);
  }

  static inline void expect_whole(int step, unsigned* at, int words, unsigned key) {
    unsigned version = at[0];
    at[0] = nothing;
    for (int k = 1; k < words; ++k) {
      if (at[k] != word(key + version, (unsigned)k)) failed(step, "torn contents", k, at[k], word(key + version, (unsigned)k));
      at[k] = nothing;
    }
  }

  static inline void exchange_addresses(int step, MPI_Comm comm, unsigned* at, MPI_Aint** all) {
    MPI_Aint mine;
    int members;
    MPI_Comm_size(comm, &members);
    *all = (MPI_Aint*)malloc((size_t)members * sizeof(MPI_Aint));
    must(MPI_Get_address(at, &mine), step, "MPI_Get_address");
    must(MPI_Allgather(&mine, 1, MPI_AINT, *all, 1, MPI_AINT, comm), step, "MPI_Allgather");
  }

  static inline void drop_addresses(MPI_Aint** all) {
    free(*all);
    *all = 0;
  }

  static inline void query_shared(int step, MPI_Win win, int rank, unsigned** at) {
    MPI_Aint size;
    int unit;
    must(MPI_Win_shared_query(win, rank, &size, &unit, at), step, "MPI_Win_shared_query");
  }

  static inline void await_exposure_end(int step, MPI_Win win, int tests) {
    int flag = 0;
    if (!tests) must(MPI_Win_wait(win), step, "MPI_Win_wait");
    while (tests && !flag) must(MPI_Win_test(win, &flag), step, "MPI_Win_test");
  }

  static inline void compute(int rounds) {
    volatile int i = 0;
    while (i < rounds) i = i + 1;
  }

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

  static inline void expect_equal(int step, const char* what, long is, long want) {
    if (is != want) failed(step, what, 0, (unsigned)is, (unsigned)want);
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
TORTURE_BOTH(content_of_worlds,
  static inline void exchange_partitions(int step, MPI_Comm inter, int sends) {
    int me = 0;
    int remote = 0;
    unsigned* at;
    MPI_Request request;
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &remote);
    if (me >= remote) return;
    MPI_Comm_size(inter, &remote);
    if (me >= remote) return;
    make(&at, 6000);
    if (sends) fill(at, 0, 1, 1, 6000, 77u, me);
    begin_partitions(step, at, sends ? 3 : 2, 6000, me, sends, inter, &request);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), step, "MPI_Wait");
    must(MPI_Request_free(&request), step, "MPI_Request_free");
    expect(step, at, 0, 1, 1, 6000, 77u, 1, me);
    expect_no_more(step, &at, 6000);
  }

  static inline void share_window(int step, MPI_Comm comm) {
    int me = 0;
    int size = 0;
    int from = 0;
    unsigned is = 0;
    unsigned* memory;
    MPI_Win window;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    from = (me + size - 1) % size;
    must(MPI_Win_allocate(400, 4, MPI_INFO_NULL, comm, &memory, &window), step, "MPI_Win_allocate");
    must(MPI_Win_fence(0, window), step, "MPI_Win_fence");
    for (unsigned k = 0; k < 100; ++k) memory[k] = word(78u, k + (unsigned)me);
    must(MPI_Win_fence(0, window), step, "MPI_Win_fence");
    must(MPI_Get(&is, 1, MPI_UNSIGNED, from, 99, 1, MPI_UNSIGNED, window), step, "MPI_Get");
    must(MPI_Put(&me, 1, MPI_UNSIGNED, (me + 1) % size, 7, 1, MPI_UNSIGNED, window), step, "MPI_Put");
    must(MPI_Win_fence(0, window), step, "MPI_Win_fence");
    expect_equal(step, "word of the rank before", (int)is, (int)word(78u, 99u + (unsigned)from));
    expect_equal(step, "what the rank before has put", (int)memory[7], from);
    must(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), step, "MPI_Win_lock");
    must(MPI_Get(&is, 1, MPI_UNSIGNED, 0, 98, 1, MPI_UNSIGNED, window), step, "MPI_Get");
    must(MPI_Win_unlock(0, window), step, "MPI_Win_unlock");
    expect_equal(step, "word of rank 0", (int)is, (int)word(78u, 98u));
    must(MPI_Win_free(&window), step, "MPI_Win_free");
  }

  static inline void leave(int step, MPI_Comm* comm, unsigned frees) {
    if (frees) must(MPI_Comm_free(comm), step, "MPI_Comm_free");
    if (!frees) must(MPI_Comm_disconnect(comm), step, "MPI_Comm_disconnect");
  }

  static inline void meet_world(int step, MPI_Comm inter, int high, unsigned how) {
    MPI_Comm all;
    MPI_Comm next;
    int size = 0;
    int here = 0;
    int remote = 0;
    int one = 1;
    MPI_Comm_size(inter, &here);
    MPI_Comm_remote_size(inter, &remote);
    must(MPI_Intercomm_merge(inter, high, &all), step, "MPI_Intercomm_merge");
    must(MPI_Bcast(&how, 1, MPI_UNSIGNED, 0, all), step, "MPI_Bcast");
    must(MPI_Allreduce(&one, &size, 1, MPI_INT, MPI_SUM, all), step, "MPI_Allreduce");
    expect_equal(step, "processes of both worlds", size, here + remote);
    if (how & 1) exchange_partitions(step, inter, high);
    if (how & 2) exchange_partitions(step, inter, !high);
    if (how & 4) share_window(step, all);
    if (how & 8) {
      const char* program = getenv("TORTURE_PROGRAM");
      must(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, all, &next, MPI_ERRCODES_IGNORE), step, "MPI_Comm_spawn");
      meet_world(step, next, 0, how >> 6);
    }
    leave(step, &all, how & 16);
    leave(step, &inter, how & 32);
  }

  static inline void be_spawned(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) return;
    meet_world(-1, parent, 1, 0);
    MPI_Finalize();
    exit(0);
  }

  static inline void try_spawn(int step, MPI_Comm comm, int many, int root, unsigned how) {
    MPI_Comm inter;
    const char* program = getenv("TORTURE_PROGRAM");
    must(MPI_Comm_spawn(program, MPI_ARGV_NULL, many, MPI_INFO_NULL, root, comm, &inter, MPI_ERRCODES_IGNORE), step,
         "MPI_Comm_spawn");
    meet_world(step, inter, 0, how);
  }
)
// clang-format on
#pragma GCC diagnostic pop
}  // namespace torture
