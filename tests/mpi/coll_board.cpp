// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Barriers and short allreduces, allgathers and alltoalls, often enough that the members of a host meet at their
// communicator's board; among them communicators that come and go, and collectives that do not meet there.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

int me, p;

// What others have before a barrier, they have when it returns.
void barriers(MPI_Comm comm, int times) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  std::int64_t* counts;
  MPI_Win win;
  MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(std::int64_t)) * size, sizeof(std::int64_t), MPI_INFO_NULL, comm,
                   &counts, &win);
  MPI_Win_lock_all(0, win);
  for (std::int64_t i = 1; i <= times; ++i) {
    for (int to = 0; to < size; ++to) MPI_Accumulate(&i, 1, MPI_INT64_T, to, rank, 1, MPI_INT64_T, MPI_REPLACE, win);
    MPI_Win_flush_all(win);
    if (i % 7 == rank) ::usleep(200);
    MPI_Barrier(comm);
    MPI_Win_sync(win);
    for (int from = 0; from < size; ++from) CHECK(counts[from] == i || counts[from] == i + 1);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

template <class T>
void reduce_all(MPI_Comm comm, MPI_Datatype type, int count, int times) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  std::vector<T> in(static_cast<std::size_t>(count)), out(in);
  for (int i = 0; i < times; ++i) {
    for (int k = 0; k < count; ++k) in[static_cast<std::size_t>(k)] = static_cast<T>(rank + i % 10 + k % 5);
    const bool in_place = i % 3 == 2;
    if (in_place) out = in;
    const void* const from = in_place ? MPI_IN_PLACE : static_cast<const void*>(in.data());
    MPI_Allreduce(from, out.data(), count, type, i % 2 ? MPI_SUM : MPI_MAX, comm);
    for (int k = 0; k < count; ++k) {
      const int each = i % 10 + k % 5;
      const int sum = size * (size - 1) / 2 + size * each, most = size - 1 + each;
      CHECK(out[static_cast<std::size_t>(k)] == static_cast<T>(i % 2 ? sum : most));
    }
  }
}

/// Blocks of `count` numbers, which lie apart where they arrive.
void blocks(MPI_Comm comm, int count, int times) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Datatype apart;  // a number in 8 bytes, the second 4 of them
  const int one = 1;
  const MPI_Aint second = 4;
  MPI_Datatype bare;
  MPI_Type_create_hindexed(1, &one, &second, MPI_INT, &bare);
  MPI_Type_create_resized(bare, 0, 8, &apart);
  MPI_Type_commit(&apart);
  MPI_Type_free(&bare);
  const auto n = static_cast<std::size_t>(count * size);
  std::vector<int> out(n), in(2 * n);
  const auto value = [&](int from, int to, int k, int i) { return ((from * 37 + to) * 41 + k) * 43 + i; };
  for (int i = 0; i < times; ++i) {
    const bool gathers = i % 2 == 0, in_place = i % 3 == 2;
    in.assign(2 * n, -7);
    for (int to = 0; to < size; ++to) {
      for (int k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(to * count + k);
        out[at] = value(rank, gathers ? 0 : to, k, i);
        if (in_place && (!gathers || to == rank)) in[2 * at + 1] = out[at];
      }
    }
    const void* const from = in_place ? MPI_IN_PLACE : static_cast<const void*>(out.data());
    if (gathers)
      MPI_Allgather(from, count, MPI_INT, in.data(), count, apart, comm);
    else
      MPI_Alltoall(from, count, MPI_INT, in.data(), count, apart, comm);
    for (int source = 0; source < size; ++source) {
      for (int k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(source * count + k);
        CHECK(in[2 * at + 1] == value(source, gathers ? 0 : rank, k, i) && in[2 * at] == -7);
      }
    }
  }
  MPI_Type_free(&apart);
}

// One member has blocks of another length: all hear of it, and meet again.
void uneven_blocks() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::vector<int> out(64), in(64);
  for (int i = 0; i < 8; ++i) {
    const int odd = i >= 4 && i < 6 && me == 1 ? 2 : 1;
    const int code = i % 2 ? MPI_Alltoall(out.data(), odd, MPI_INT, in.data(), odd, MPI_INT, comm)
                           : MPI_Allgather(out.data(), odd, MPI_INT, in.data(), odd, MPI_INT, comm);
    if (i < 4 || i >= 6) CHECK(code == MPI_SUCCESS);
    if (i >= 4 && i < 6) CHECK_CLASS(code, MPI_ERR_TRUNCATE);
  }
  MPI_Comm_free(&comm);
}

void uneven_sums(MPI_Comm comm) {
  // The bits of a sum are the same whoever adds, at the board as by messages (longer vectors go by those).
  int rank;
  MPI_Comm_rank(comm, &rank);
  std::vector<double> in(64), by_messages(64);
  for (std::size_t k = 0; k < in.size(); ++k) in[k] = 1.0 / (1 + rank + static_cast<double>(k)) + (rank % 2 ? 1e16 : 0);
  MPI_Allreduce(in.data(), by_messages.data(), 64, MPI_DOUBLE, MPI_SUM, comm);
  for (std::size_t k = 0; k < in.size(); ++k) {
    double one = 0;
    MPI_Allreduce(&in[k], &one, 1, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(one == by_messages[k]);
  }
}

void among_others(MPI_Comm comm) {
  int size, rank, left = 0, sum = 0, later = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < 200; ++i) {
    MPI_Request r[3];
    MPI_Iallreduce(&rank, &later, 1, MPI_INT, MPI_SUM, comm, &r[0]);
    MPI_Irecv(&left, 1, MPI_INT, (rank + size - 1) % size, i, comm, &r[1]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, i, comm, &r[2]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    int root = rank == i % size ? i : -1;
    MPI_Bcast(&root, 1, MPI_INT, i % size, comm);
    MPI_Barrier(comm);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    CHECK(left == (rank + size - 1) % size && sum == size * (size - 1) / 2 && later == sum && root == i);
  }
}

// Whoever comes last finds that all have come, and need not wait: it has to hear of messages all the same.
void always_last() {
  int x = 0, mine = 0, all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (me == 0) MPI_Irecv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  if (me == 1) MPI_Issend(&me, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  for (int round = 0; all == 0 && round < 2000; ++round) {
    if (me == 0) ::usleep(1000);
    if (me == 1) MPI_Test(&request, &mine, MPI_STATUS_IGNORE);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  CHECK(all == 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void come_and_go() {
  for (int i = 0; i < 60; ++i) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? me % (i % 3 + 1) : 0, i % 2 ? me : -me, &part);
    reduce_all<int>(part, MPI_INT, 3, 5);
    blocks(part, 2, 4);
    MPI_Barrier(part);
    MPI_Comm_free(&part);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  barriers(MPI_COMM_WORLD, 300);
  // Up to what a board takes, and beyond.
  for (const int count : {0, 1, 5, 6, 7, 100}) reduce_all<double>(MPI_COMM_WORLD, MPI_DOUBLE, count, 100);
  for (const int count : {1, 47, 48, 49}) reduce_all<std::int8_t>(MPI_COMM_WORLD, MPI_INT8_T, count, 100);
  // 192 bytes for one, or for all.
  for (const int count : {0, 1, 9, 10, 12, 13, 48, 49}) blocks(MPI_COMM_WORLD, count, 60);
  const char* methods = std::getenv("RMQ_METHODS");
  if (methods && !std::strstr(methods, "tcp")) uneven_blocks();  // all meet
  uneven_sums(MPI_COMM_WORLD);
  among_others(MPI_COMM_WORLD);
  always_last();
  come_and_go();
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, me / 2, -me, &pair);
  barriers(pair, 300);
  reduce_all<float>(pair, MPI_FLOAT, 2, 300);
  for (const int count : {1, 24, 25}) blocks(pair, count, 100);
  uneven_sums(pair);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return check::failures ? 1 : 0;
}
