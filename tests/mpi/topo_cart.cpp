// SPDX-License-Identifier: BSD-3-Clause
// ranks: 6
// Cartesian topologies: places, shifts, sub-grids, what duplicates keep and others drop, errors.
#include <cstring>
#include <string>

#include "check.hpp"

namespace {

int kind(MPI_Comm comm) {
  int k;
  MPI_Topo_test(comm, &k);
  return k;
}

MPI_Comm grid(int ndims, const int* dims, const int* periods) {
  MPI_Comm c;
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &c) == MPI_SUCCESS);
  return c;
}

/// 3 x 2, the first dimension a ring.
MPI_Comm three_by_two() {
  const int dims[] = {3, 2}, periods[] = {7, 0};
  return grid(2, dims, periods);
}

void places() {
  MPI_Comm c = three_by_two();
  const int me = check::rank(c);
  CHECK(me == check::rank() && check::size(c) == 6 && kind(c) == MPI_CART);
  int n, dims[3] = {-9, -9, -9}, periods[3], coords[3];
  MPI_Cartdim_get(c, &n);
  CHECK(n == 2);
  MPI_Cart_get(c, 3, dims, periods, coords);
  CHECK(dims[0] == 3 && dims[1] == 2 && dims[2] == -9);
  CHECK(periods[0] == 1 && periods[1] == 0);
  CHECK(coords[0] == me / 2 && coords[1] == me % 2);
  for (int r = 0; r < 6; ++r) {
    MPI_Cart_coords(c, r, 2, coords);
    CHECK(coords[0] == r / 2 && coords[1] == r % 2);
    int back;
    coords[0] += r % 2 ? 9 : -6;  // around the ring
    MPI_Cart_rank(c, coords, &back);
    CHECK(back == r);
  }
  int from, to;
  MPI_Cart_shift(c, 0, 1, &from, &to);
  CHECK(from == (me + 4) % 6 && to == (me + 2) % 6);
  MPI_Cart_shift(c, 0, -5, &from, &to);  // as 1
  CHECK(from == (me + 4) % 6 && to == (me + 2) % 6);
  MPI_Cart_shift(c, 0, -2147483647 - 1, &from, &to);  // -2^31 is 1 modulo 3
  CHECK(from == (me + 4) % 6 && to == (me + 2) % 6);
  MPI_Cart_shift(c, 1, 1, &from, &to);
  CHECK(from == (me % 2 ? me - 1 : MPI_PROC_NULL) && to == (me % 2 ? MPI_PROC_NULL : me + 1));
  MPI_Cart_shift(c, 1, 0, &from, &to);
  CHECK(from == me && to == me);
  MPI_Comm_free(&c);
}

void smaller() {
  const int dims[] = {2, 2}, periods[] = {0, 0};
  MPI_Comm c = grid(2, dims, periods);
  CHECK((c != MPI_COMM_NULL) == (check::rank() < 4));
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  c = grid(0, nullptr, nullptr);
  CHECK((c != MPI_COMM_NULL) == (check::rank() == 0));
  if (c != MPI_COMM_NULL) {
    int r = -1, n = -1;
    CHECK(MPI_Cart_rank(c, nullptr, &r) == MPI_SUCCESS && r == 0);
    CHECK(MPI_Cartdim_get(c, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_Cart_get(c, 0, nullptr, nullptr, nullptr) == MPI_SUCCESS);
    MPI_Comm_free(&c);
  }
  int place;
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place);
  CHECK(place == (check::rank() < 4 ? check::rank() : MPI_UNDEFINED));
}

void sub_grids() {
  MPI_Comm c = three_by_two(), rows, columns, points;
  const int me = check::rank(c);
  const int first[] = {1, 0}, second[] = {0, 1}, none[] = {0, 0};
  MPI_Cart_sub(c, first, &columns);
  CHECK(check::size(columns) == 3 && check::rank(columns) == me / 2);
  int dims[2], periods[2], coords[2];
  MPI_Cart_get(columns, 1, dims, periods, coords);
  CHECK(dims[0] == 3 && periods[0] == 1 && coords[0] == me / 2);
  MPI_Cart_sub(c, second, &rows);
  CHECK(check::size(rows) == 2 && check::rank(rows) == me % 2);
  int sum = 0;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, rows);
  CHECK(sum == me / 2 * 4 + 1);
  MPI_Cart_sub(c, none, &points);
  CHECK(check::size(points) == 1 && kind(points) == MPI_CART);
  for (MPI_Comm* x : {&rows, &columns, &points, &c}) MPI_Comm_free(x);
}

void who_keeps_it() {
  MPI_Comm c = three_by_two(), d;
  MPI_Comm_dup(c, &d);
  CHECK(kind(d) == MPI_CART);
  MPI_Comm_free(&c);  // the duplicate has its own hold
  int from, to;
  MPI_Cart_shift(d, 0, 1, &from, &to);
  CHECK(to == (check::rank() + 2) % 6);
  MPI_Request r;
  MPI_Comm_idup(d, &c, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(kind(c) == MPI_CART);
  MPI_Comm_free(&c);
  MPI_Comm_split(d, 0, 0, &c);
  CHECK(kind(c) == MPI_UNDEFINED);
  MPI_Comm_free(&c);
  MPI_Group g;
  MPI_Comm_group(d, &g);
  MPI_Comm_create(d, g, &c);
  CHECK(kind(c) == MPI_UNDEFINED);
  MPI_Comm_free(&c);
  MPI_Group_free(&g);
  MPI_Comm_free(&d);
}

void errors() {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm c = world;
  int dims[] = {4, 2}, periods[] = {0, 0}, n, x[2];
  const int zero[] = {3, 0};
  CHECK_CLASS(MPI_Cart_create(world, 2, dims, periods, 0, &c), MPI_ERR_DIMS);  // too large
  CHECK(c == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Cart_create(world, 2, zero, periods, 0, &c), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(world, -1, dims, periods, 0, &c), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(world, 2, nullptr, periods, 0, &c), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_create(world, 2, dims, periods, 0, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &c), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Cart_map(world, 2, dims, periods, &n), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cartdim_get(world, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_rank(world, dims, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_sub(world, dims, &c), MPI_ERR_TOPOLOGY);
  const int code = MPI_Cart_shift(world, 0, 1, &n, &n);
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_string(code, text, &n);
  CHECK(std::string(text) == "MPI_Cart_shift: argument comm has no Cartesian topology");

  c = three_by_two();
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Cart_shift(c, 2, 1, &n, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_shift(c, -1, 1, &n, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_coords(c, 6, 2, x), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Cart_coords(c, MPI_PROC_NULL, 2, x), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Cart_coords(c, 0, 1, x), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_get(c, 1, x, x, x), MPI_ERR_ARG);
  const int outside[] = {0, 2};
  CHECK_CLASS(MPI_Cart_rank(c, outside, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_rank(c, nullptr, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graphdims_get(c, &n, &n), MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  places();
  smaller();
  sub_grids();
  who_keeps_it();
  errors();
  return check::finish();
}
