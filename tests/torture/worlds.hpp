// SPDX-License-Identifier: BSD-3-Clause
// What processes do with those of another world that they meet: C, as in content.hpp.
#pragma once

#include "content.hpp"

namespace torture {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"   // it is C as well
#pragma GCC diagnostic ignored "-Wunused-function"  // each source uses some
// clang-format off
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
