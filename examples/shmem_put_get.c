// SPDX-License-Identifier: BSD-3-Clause
// Put and get: a halo exchange. Each PE has a piece of a ring of numbers with a place for a neighbour's number at
// either end, which the neighbours fill; each number becomes the mean of its neighbours.
//   rmqrun -n 4 shmem_put_get
#include <shmem.h>
#include <stdio.h>

enum { kPiece = 1000, kSteps = 50 };

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;

  double* u = shmem_calloc(kPiece + 2, sizeof *u);
  double* v = shmem_calloc(kPiece + 2, sizeof *v);
  if (me == 0) u[kPiece / 2] = 1;
  for (int step = 0; step < kSteps; ++step) {
    shmem_double_put(&u[kPiece + 1], &u[1], 1, left);
    shmem_double_put(&u[0], &u[kPiece], 1, right);
    shmem_barrier_all(); /* also completes the puts */
    for (int i = 1; i <= kPiece; ++i) v[i] = (u[i - 1] + u[i + 1]) / 2;
    double* const old = u;
    u = v, v = old;
    shmem_barrier_all();
  }

  double sum = 0, theirs[kPiece];
  if (me == 0) {
    for (int pe = 0; pe < n; ++pe) {
      shmem_double_get(theirs, &u[1], kPiece, pe);
      for (int i = 0; i < kPiece; ++i) sum += theirs[i];
    }
    printf("after %d steps the sum is %.6f: %s\n", kSteps, sum, sum > 0.999999 && sum < 1.000001 ? "right" : "WRONG");
  }
  shmem_finalize();
  return me == 0 && !(sum > 0.999999 && sum < 1.000001);
}
