// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Wrong arguments give the class that MPI names and leave the communicator usable; messages of the wrong size are
// reported.
#include "coll_test.hpp"

using namespace coll_test;

namespace {

int class_of(int code) {
  int c = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &c);
  return c;
}

void expect(int code, int error_class, const char* what) {
  const int got = class_of(code);
  if (got == error_class) return;
  check(false,
        (std::string(what) + ": class " + std::to_string(got) + ", expected " + std::to_string(error_class)).c_str());
}

void bad_arguments() {
  context = "argument";
  int a[8] = {}, b[8] = {}, counts[4] = {1, 1, 1, 1}, displs[4] = {0, 1, 2, 3};
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  expect(MPI_Bcast(a, -1, MPI_INT, 0, world), MPI_ERR_COUNT, "count");
  expect(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, world), MPI_ERR_TYPE, "null type");
  expect(MPI_Bcast(a, 1, raw, 0, world), MPI_ERR_TYPE, "type not committed");
  expect(MPI_Bcast(a, 1, MPI_INT, 4, world), MPI_ERR_ROOT, "root too large");
  expect(MPI_Bcast(a, 1, MPI_INT, -1, world), MPI_ERR_ROOT, "negative root");
  expect(MPI_Bcast(nullptr, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "null buffer");
  expect(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "null communicator");
  expect(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP, "null op");
  expect(MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP, "op not for this type");
  expect(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "aliased");
  expect(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "recvbuf in place");
  expect(MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, world), MPI_ERR_COUNT, "recvcount");
  expect(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, world), MPI_ERR_BUFFER, "aliased exchange");
  counts[2] = -1;
  expect(MPI_Allgatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT, world), MPI_ERR_COUNT, "one of recvcounts");
  expect(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "one of recvcounts");
  MPI_Type_free(&raw);
  expect(MPI_Barrier(world), MPI_SUCCESS, "barrier afterwards");
}

/// The rank that gets less or more than it has room for says so, and the next collective works.
void wrong_sizes(int rank) {
  int a[64] = {}, b[256] = {};
  const MPI_Comm world = MPI_COMM_WORLD;
  for (const bool root_has_more : {false, true}) {
    context = root_has_more ? "long message" : "short message";
    const int n = (rank == 0) == root_has_more ? 10 : 1;
    int code = MPI_Bcast(a, n, MPI_INT, 0, world);
    if (rank != 0) expect(code, MPI_ERR_TRUNCATE, "Bcast");
    code = MPI_Scatter(b, n, MPI_INT, a, n, MPI_INT, 0, world);
    if (rank != 0) expect(code, MPI_ERR_TRUNCATE, "Scatter");
    code = MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, 0, world);
    if (rank == 0) expect(code, MPI_ERR_TRUNCATE, "Gather");
    code = MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, 0, world);
    if (rank == 0) expect(code, MPI_ERR_TRUNCATE, "Reduce");
    expect(MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, world), MPI_ERR_TRUNCATE, "Allreduce");
    MPI_Barrier(world);
  }
  context = "after errors";
  int one = 1, sum = 0;
  expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world), MPI_SUCCESS, "Allreduce");
  check(sum == 4, "sum");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  bad_arguments();
  wrong_sizes(rank);
  return finish();
}
