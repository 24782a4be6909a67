// SPDX-License-Identifier: BSD-3-Clause
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

  static inline void receive_what_was_sent(int step, unsigned* at, int words, int from, int tag, MPI_Comm comm, unsigned key, int more) {
    int cancelled = 0;
    int there = 0;
    must(MPI_Recv(&cancelled, 1, MPI_INT, from, tag + 1000, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
    must(MPI_Iprobe(from, tag, comm, &there, MPI_STATUS_IGNORE), step, "MPI_Iprobe");
    if (cancelled && there && !more) failed(step, "message that was cancelled", 0, 1, 0);
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

  static inline void part_of_array(int step, int all, int place, const int* sizes, const int* blocks, const int* parts, MPI_Datatype from, MPI_Datatype* to) {
    int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
    must(MPI_Type_create_darray(all, place, 2, sizes, kinds, blocks, parts, MPI_ORDER_C, from, to), step, "MPI_Type_create_darray");
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

  static inline void expect_equal(int step, const char* what, long is, long want) {
    if (is != want) failed(step, what, 0, (unsigned)is, (unsigned)want);
  }
)
// clang-format on
#pragma GCC diagnostic pop
}  // namespace torture
