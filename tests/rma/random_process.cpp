// SPDX-License-Identifier: BSD-3-Clause
// rma_random_process [--seed N] [--first N] [--count N]: random programs of remote memory access on real processes,
// under rmqrun. Every process walks the whole program and has the oracle for itself (program.hpp). Programs have from
// two to all ranks, beginning with another one each time, so that the hosts of a split job mix. A failure prints its
// seed and ends the job; `--seed N` draws that program again, though processes keep their own time.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rma/mpi_face.hpp"

namespace {

/// The members of the program: rank `seed` of the world and those behind it. MPI_COMM_NULL for who is not one.
MPI_Comm members(const rmq::testing::RmaPlan& plan, int me, int size) {
  const int place = static_cast<int>((static_cast<std::uint64_t>(me) + plan.seed) % static_cast<std::uint64_t>(size));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, place < plan.ranks ? 0 : MPI_UNDEFINED, place, &comm);
  return comm;
}

bool on_one_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  int all = 0, here = 0, least = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(comm, &all);
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  MPI_Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, comm);
  return least == all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::uint64_t first = 1, count = 20;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) {
      first = value;
      count = 1;
    } else if (std::strcmp(argv[i], "--first") == 0) {
      first = value;
    } else if (std::strcmp(argv[i], "--count") == 0) {
      count = value;
    }
  }
  int me = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    std::fprintf(stderr, "rma_random_process: needs two ranks or more: rmqrun -n 4 %s\n", argv[0]);
    return 2;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    rmq::testing::RmaPlan plan(seed, size);
    MPI_Comm comm = members(plan, me, size);
    if (comm != MPI_COMM_NULL) {
      // Members of several hosts share no memory.
      if (plan.flavor == rmq::rma::Flavor::shared && !on_one_host(comm)) plan.flavor = rmq::rma::Flavor::allocate;
      int place = 0;
      MPI_Comm_rank(comm, &place);
      if (place == 0) fmt::print("{}\n", plan.describe());
      rmq::testing::run_on_mpi(plan, comm);
      MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
