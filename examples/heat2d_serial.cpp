// SPDX-License-Identifier: BSD-3-Clause
// heat2d without MPI: the reference that the parallel runs are compared with, bit for bit.
//   heat2d_serial <cells a side> <steps> <output file>
#include <cstdlib>
#include <utility>

#include "heat.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: heat2d_serial <cells> <steps> <output>\n"), 2;
  const int n = std::atoi(argv[1]), steps = std::atoi(argv[2]);
  heat::Block now(n, n), next(n, n);
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) now.at(r, c) = heat::initial(r, c, n);
  }
  double residual = 0;
  for (int i = 0; i < steps; ++i) {
    residual = heat::step(now, next);
    std::swap(now, next);
  }
  std::vector<double> field;
  for (int r = 0; r < n; ++r) field.insert(field.end(), &now.at(r, 0), &now.at(r, 0) + n);
  if (!heat::write_field(argv[3], field)) return std::perror(argv[3]), 1;
  std::printf("%d steps, residual %.17g\n", steps, residual);
  return 0;
}
