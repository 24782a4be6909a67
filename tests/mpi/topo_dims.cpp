// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// MPI_Dims_create: known answers, all small cases against trying out everything, and errors.
#include <algorithm>
#include <vector>

#include "check.hpp"

namespace {

using Dims = std::vector<int>;

Dims made(int nodes, Dims dims) {
  CHECK(MPI_Dims_create(nodes, static_cast<int>(dims.size()), dims.data()) == MPI_SUCCESS);
  return dims;
}

void known() {
  CHECK(made(6, {0, 0}) == (Dims{3, 2}));
  CHECK(made(7, {0, 0}) == (Dims{7, 1}));
  CHECK(made(6, {0, 3, 0}) == (Dims{2, 3, 1}));
  CHECK(made(1, {0, 0, 0}) == (Dims{1, 1, 1}));
  CHECK(made(16, {0, 0, 0}) == (Dims{4, 2, 2}));
  CHECK(made(72, {0, 0}) == (Dims{9, 8}));
  CHECK(made(12, {2, 0, 0, 1}) == (Dims{2, 3, 2, 1}));
  CHECK(made(1000000000, {0, 0, 0}) == (Dims{1000, 1000, 1000}));
  CHECK(made(2147483647, {0, 0, 0}) == (Dims{2147483647, 1, 1}));
  CHECK(made(1 << 30, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) == Dims(10, 8));
  CHECK(made(2 * 1000003, {0, 0, 0}) == (Dims{1000003, 2, 1}));
  CHECK(made(24, {4, 6}) == (Dims{4, 6}));
  CHECK(MPI_Dims_create(1, 0, nullptr) == MPI_SUCCESS);
}

/// Highly composite numbers, for which a careless search takes for ever.
void hard() {
  for (const int n : {2095133040, 1396755360, 735134400, 2147483646, 720720 * 2971, 1073741824}) {
    for (int k = 1; k <= 32; ++k) {
      const Dims d = made(n, Dims(static_cast<std::size_t>(k)));
      long product = 1;
      for (const int x : d) product *= x;
      CHECK(product == n && std::is_sorted(d.rbegin(), d.rend()));
    }
  }
}

/// All products of `k` ascending factors, each at least `least`.
void products(int n, int k, int least, Dims& so_far, std::vector<Dims>& all) {
  if (k == 1) {
    if (n < least) return;
    all.push_back(so_far);
    all.back().push_back(n);
    return;
  }
  for (int f = least; f <= n; ++f) {
    if (n % f) continue;
    so_far.push_back(f);
    products(n / f, k - 1, f, so_far, all);
    so_far.pop_back();
  }
}

void all_small() {
  for (int n = 1; n <= 720; ++n) {
    for (int k = 1; k <= 5; ++k) {
      std::vector<Dims> all;
      Dims start;
      products(n, k, 1, start, all);
      // The least spread, then the largest list, smallest first.
      const Dims best = *std::min_element(all.begin(), all.end(), [](const Dims& a, const Dims& b) {
        const int x = a.back() - a.front(), y = b.back() - b.front();
        return x != y ? x < y : a > b;
      });
      CHECK(made(n, Dims(static_cast<std::size_t>(k))) == Dims(best.rbegin(), best.rend()));
    }
  }
}

void errors() {
  int d[3] = {0, 4, 0};
  CHECK_CLASS(MPI_Dims_create(6, 3, d), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Dims_create(0, 3, d), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dims_create(6, -1, d), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Dims_create(6, 2, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dims_create(2, 0, nullptr), MPI_ERR_DIMS);
  d[1] = -2;
  CHECK_CLASS(MPI_Dims_create(6, 3, d), MPI_ERR_DIMS);
  int full[2] = {2, 2};
  CHECK_CLASS(MPI_Dims_create(8, 2, full), MPI_ERR_DIMS);
  int large[3] = {1 << 30, 1 << 30, 0};
  CHECK_CLASS(MPI_Dims_create(8, 3, large), MPI_ERR_DIMS);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  known();
  hard();
  all_small();
  errors();
  return check::finish();
}
