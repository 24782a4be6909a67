// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Reduce_scatter where some ranks, or all, get nothing, and where all get as little as there is: rank r gets block r of
// the sum, and nothing else changes.
#include "coll_test.hpp"

namespace coll_test {
namespace {

void reduce_blocks(const std::vector<int>& counts, bool background) {
  int me, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  int all = 0, mine = 0;
  for (int i = 0; i < p; ++i) {
    if (i == me) mine = all;
    all += counts[static_cast<std::size_t>(i)];
  }
  context = "counts";
  for (const int n : counts) context += " " + std::to_string(n);
  constexpr float kUntouched = -77;
  std::vector<float> in(static_cast<std::size_t>(all) + 1), out(static_cast<std::size_t>(all) + 1, kUntouched);
  for (int i = 0; i <= all; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(me + 1 + 10 * i);
  if (background) {
    MPI_Request request;
    MPI_Ireduce_scatter(in.data(), out.data(), counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  const int n = counts[static_cast<std::size_t>(me)];
  for (int i = 0; i <= all; ++i) {
    const float sum = static_cast<float>(p * (p + 1) / 2 + 10 * p * (mine + i));
    check(out[static_cast<std::size_t>(i)] == (i < n ? sum : kUntouched), "element");
  }
}

}  // namespace
}  // namespace coll_test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const bool background : {false, true}) {
    for (const std::vector<int>& counts : std::vector<std::vector<int>>{
             {1, 1, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}, {0, 3, 0, 2}, {5000, 0, 1, 0}}) {
      coll_test::reduce_blocks(counts, background);
    }
  }
  return coll_test::finish();
}
