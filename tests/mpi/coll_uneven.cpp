// SPDX-License-Identifier: BSD-3-Clause
// ranks: 16
// Vectors that do not divide into as many equal blocks as there are ranks, in place: the halves that travel differ in
// length by up to half the number of ranks.
#include "coll_test.hpp"

namespace coll_test {
namespace {

double operand(int rank, int i) {
  return rank + i % 1000;
}

double sum(int ranks, int i) {
  return ranks * (ranks - 1) / 2.0 + ranks * static_cast<double>(i % 1000);
}

void reduce_uneven(int count, int root) {
  context = std::to_string(count) + " doubles";
  int me, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const auto n = static_cast<std::size_t>(count);
  for (const bool to_all : {true, false}) {
    std::vector<double> data(n);
    for (int i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = operand(me, i);
    if (to_all) {
      MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else {
      const bool here = me == root;
      MPI_Reduce(here ? MPI_IN_PLACE : data.data(), here ? data.data() : nullptr, count, MPI_DOUBLE, MPI_SUM, root,
                 MPI_COMM_WORLD);
      if (!here) continue;
    }
    for (int i = 0; i < count; ++i) {
      if (!check(data[static_cast<std::size_t>(i)] == sum(p, i), to_all ? "Allreduce" : "Reduce")) break;
    }
  }
}

}  // namespace
}  // namespace coll_test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int more = 0; more < 16; ++more) {
    for (const int blocks : {64, 65, 625}) coll_test::reduce_uneven(16 * blocks * 2 + more, more);
  }
  return coll_test::finish();
}
