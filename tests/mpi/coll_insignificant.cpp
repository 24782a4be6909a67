// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Arguments that MPI calls not significant may be anything: on an inter-communicator those of the ranks beside the
// root, elsewhere the root's at the others, and addresses of data of which there is none.
#include <cstdint>

#include "coll_test.hpp"

using coll_test::check;

namespace {

const auto kRubbish = reinterpret_cast<void*>(std::intptr_t{-1});
const auto kNoNumbers = static_cast<const int*>(nullptr);
constexpr int kBadCount = -7;

/// Calls `start` and waits for what it has started.
template <class Start>
int waited(Start&& start, bool persistent) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = start(&request);
  if (code == MPI_SUCCESS && persistent) code = MPI_Start(&request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}

/// All rooted collectives beside the root.
void beside(MPI_Comm ic) {
  const int root = MPI_PROC_NULL;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  check(MPI_Bcast(kRubbish, kBadCount, none, root, ic) == MPI_SUCCESS, "Bcast");
  check(MPI_Gather(kRubbish, kBadCount, none, kRubbish, kBadCount, none, root, ic) == MPI_SUCCESS, "Gather");
  check(MPI_Gatherv(kRubbish, kBadCount, none, kRubbish, kNoNumbers, kNoNumbers, none, root, ic) == MPI_SUCCESS,
        "Gatherv");
  check(MPI_Scatter(kRubbish, kBadCount, none, kRubbish, kBadCount, none, root, ic) == MPI_SUCCESS, "Scatter");
  check(MPI_Scatterv(kRubbish, kNoNumbers, kNoNumbers, none, kRubbish, kBadCount, none, root, ic) == MPI_SUCCESS,
        "Scatterv");
  check(MPI_Reduce(nullptr, nullptr, 0, MPI_BYTE, MPI_SUM, root, ic) == MPI_SUCCESS, "Reduce of bytes");
  check(MPI_Reduce(kRubbish, kRubbish, kBadCount, none, MPI_OP_NULL, root, ic) == MPI_SUCCESS, "Reduce");
  check(
      waited([&](MPI_Request* r) { return MPI_Ireduce(kRubbish, kRubbish, kBadCount, none, MPI_OP_NULL, root, ic, r); },
             false) == MPI_SUCCESS,
      "Ireduce");
  check(waited(
            [&](MPI_Request* r) {
              return MPI_Reduce_init(kRubbish, kRubbish, kBadCount, none, MPI_OP_NULL, root, ic, MPI_INFO_NULL, r);
            },
            true) == MPI_SUCCESS,
        "Reduce_init");
}

/// The same at the root and in the other group, of one int each; only the significant arguments are good.
void among(MPI_Comm ic, bool here) {
  const int root = here ? MPI_ROOT : 0;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  int n, one = 1, sum = 0, all[8] = {}, counts[8], places[8];
  MPI_Comm_remote_size(ic, &n);
  for (int i = 0; i < n; ++i) counts[i] = 1, places[i] = i;
  const auto filled = [&] {
    for (int i = 0; i < n; ++i) check(!here || all[i] == 1, "gathered");
    for (int& x : all) x = here ? 1 : 0;
  };
  MPI_Bcast(&one, 1, MPI_INT, root, ic);
  if (here) {
    MPI_Gather(kRubbish, kBadCount, none, all, 1, MPI_INT, root, ic), filled();
    MPI_Gatherv(kRubbish, kBadCount, none, all, counts, places, MPI_INT, root, ic), filled();
    MPI_Scatter(all, 1, MPI_INT, kRubbish, kBadCount, none, root, ic);
    MPI_Scatterv(all, counts, places, MPI_INT, kRubbish, kBadCount, none, root, ic);
  } else {
    MPI_Gather(&one, 1, MPI_INT, kRubbish, kBadCount, none, root, ic);
    MPI_Gatherv(&one, 1, MPI_INT, kRubbish, kNoNumbers, kNoNumbers, none, root, ic);
    MPI_Scatter(kRubbish, kBadCount, none, &sum, 1, MPI_INT, root, ic), check(sum == 1, "Scatter");
    MPI_Scatterv(kRubbish, kNoNumbers, kNoNumbers, none, &sum, 1, MPI_INT, root, ic), check(sum == 1, "Scatterv");
  }
  const auto reduced = [&](int code) {
    check(code == MPI_SUCCESS && (!here || sum == n), "Reduce");
    sum = 0;
  };
  void* const in = here ? kRubbish : &one;
  void* const out = here ? &sum : kRubbish;
  sum = 0;
  MPI_Reduce(here ? nullptr : &all, here ? &all : nullptr, 0, MPI_BYTE, MPI_BOR, root, ic);
  reduced(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, root, ic));
  reduced(waited([&](MPI_Request* r) { return MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, root, ic, r); }, false));
  reduced(waited(
      [&](MPI_Request* r) { return MPI_Reduce_init(in, out, 1, MPI_INT, MPI_SUM, root, ic, MPI_INFO_NULL, r); }, true));
}

/// Where there is no data, no address and no type is looked at.
void without_data(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  const std::vector<int> none(static_cast<std::size_t>(size), 0);
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), MPI_DATATYPE_NULL);
  const int* const zero = none.data();
  check(MPI_Alltoallv(nullptr, zero, zero, MPI_INT, kRubbish, zero, zero, MPI_INT, comm) == MPI_SUCCESS, "Alltoallv");
  check(MPI_Alltoallv(&size, zero, zero, MPI_INT, kRubbish, zero, zero, MPI_DATATYPE_NULL, comm) == MPI_SUCCESS,
        "Alltoallv without a type");
  check(MPI_Alltoallw(nullptr, zero, zero, types.data(), kRubbish, zero, zero, types.data(), comm) == MPI_SUCCESS,
        "Alltoallw");
  check(MPI_Alltoall(nullptr, 0, MPI_INT, kRubbish, 0, MPI_INT, comm) == MPI_SUCCESS, "Alltoall");
  check(MPI_Allgatherv(nullptr, 0, MPI_INT, kRubbish, zero, zero, MPI_INT, comm) == MPI_SUCCESS, "Allgatherv");
  check(MPI_Allgather(nullptr, 0, MPI_INT, kRubbish, 0, MPI_INT, comm) == MPI_SUCCESS, "Allgather");
  check(MPI_Allreduce(nullptr, kRubbish, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "Allreduce");
  check(MPI_Bcast(kRubbish, 0, MPI_INT, 0, comm) == MPI_SUCCESS, "Bcast");
  check(waited(
            [&](MPI_Request* r) {
              return MPI_Ialltoallv(nullptr, zero, zero, MPI_INT, kRubbish, zero, zero, MPI_INT, comm, r);
            },
            false) == MPI_SUCCESS,
        "Ialltoallv");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool left = rank < 2;
  MPI_Comm local, ic;
  MPI_Comm_split(MPI_COMM_WORLD, left, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, left ? 2 : 0, 0, &ic);
  MPI_Comm_set_errhandler(ic, MPI_ERRORS_RETURN);
  // Beside the root nothing waits for the others, so everything may be called at once.
  if (rank == 1) {
    beside(ic);
  } else {
    among(ic, rank == 0);
  }
  without_data(MPI_COMM_WORLD);
  MPI_Comm_free(&ic);
  MPI_Comm_free(&local);
  return coll_test::finish();
}
