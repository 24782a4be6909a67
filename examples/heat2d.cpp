// SPDX-License-Identifier: BSD-3-Clause
// The 2-D heat equation on any number of ranks: a grid of blocks, halo exchange with non-blocking sends (rows as they
// lie in memory, columns as a derived datatype), Allreduce of the residual, and the field gathered at rank 0.
//   rmqrun -n 4 heat2d <cells a side> <steps> <output file>
#include <mpi.h>

#include <cstdlib>
#include <utility>

#include "heat.hpp"

namespace {

// The ranks as a grid of rows x columns, as square as they allow.
struct Grid {
  int rows, columns, row, column;
  Grid(int rank, int size) {
    rows = static_cast<int>(std::sqrt(size));
    while (size % rows) --rows;
    columns = size / rows;
    row = rank / columns;
    column = rank % columns;
  }
  int rank(int r, int c) const { return r < 0 || r >= rows || c < 0 || c >= columns ? MPI_PROC_NULL : r * columns + c; }
};

int first(int part, int parts, int n) {
  return static_cast<int>(static_cast<long>(n) * part / parts);
}

void exchange_halo(heat::Block& b, const Grid& g, MPI_Datatype column) {
  const int up = g.rank(g.row - 1, g.column), down = g.rank(g.row + 1, g.column);
  const int left = g.rank(g.row, g.column - 1), right = g.rank(g.row, g.column + 1);
  MPI_Request all[8];
  MPI_Irecv(&b.at(-1, 0), b.columns, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(&b.at(b.rows, 0), b.columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Irecv(&b.at(0, -1), 1, column, left, 2, MPI_COMM_WORLD, &all[2]);
  MPI_Irecv(&b.at(0, b.columns), 1, column, right, 3, MPI_COMM_WORLD, &all[3]);
  MPI_Isend(&b.at(b.rows - 1, 0), b.columns, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &all[4]);
  MPI_Isend(&b.at(0, 0), b.columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &all[5]);
  MPI_Isend(&b.at(0, b.columns - 1), 1, column, right, 2, MPI_COMM_WORLD, &all[6]);
  MPI_Isend(&b.at(0, 0), 1, column, left, 3, MPI_COMM_WORLD, &all[7]);
  MPI_Waitall(8, all, MPI_STATUSES_IGNORE);
}

// Each rank sends its block as it lies; rank 0 receives it into its place in the whole field.
std::vector<double> gather(heat::Block& b, int n, int size) {
  std::vector<double> field(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int whole[2] = {b.rows + 2, b.columns + 2}, part[2] = {b.rows, b.columns}, at[2] = {1, 1};
  MPI_Datatype interior;
  MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_DOUBLE, &interior);
  MPI_Type_commit(&interior);
  MPI_Request sent;
  MPI_Isend(b.cells.data(), 1, interior, 0, 9, MPI_COMM_WORLD, &sent);
  for (int r = 0; rank == 0 && r < size; ++r) {
    const Grid g(r, size);
    const int r0 = first(g.row, g.rows, n), r1 = first(g.row + 1, g.rows, n);
    const int c0 = first(g.column, g.columns, n), c1 = first(g.column + 1, g.columns, n);
    const int plate[2] = {n, n}, block[2] = {r1 - r0, c1 - c0}, place[2] = {r0, c0};
    MPI_Datatype target;
    MPI_Type_create_subarray(2, plate, block, place, MPI_ORDER_C, MPI_DOUBLE, &target);
    MPI_Type_commit(&target);
    MPI_Recv(field.data(), 1, target, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&target);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&interior);
  return field;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) {
    if (rank == 0) std::fprintf(stderr, "usage: heat2d <cells> <steps> <output>\n");
    MPI_Finalize();
    return 2;
  }
  const int n = std::atoi(argv[1]), steps = std::atoi(argv[2]);
  const Grid grid(rank, size);
  const int r0 = first(grid.row, grid.rows, n), r1 = first(grid.row + 1, grid.rows, n);
  const int c0 = first(grid.column, grid.columns, n), c1 = first(grid.column + 1, grid.columns, n);

  heat::Block now(r1 - r0, c1 - c0), next(r1 - r0, c1 - c0);
  for (int r = r0; r < r1; ++r) {
    for (int c = c0; c < c1; ++c) now.at(r - r0, c - c0) = heat::initial(r, c, n);
  }
  MPI_Datatype column;
  MPI_Type_vector(now.rows, 1, now.stride(), MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  double residual = 0;
  for (int i = 0; i < steps; ++i) {
    exchange_halo(now, grid, column);
    const double mine = heat::step(now, next);
    MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    std::swap(now, next);
  }
  MPI_Type_free(&column);

  const std::vector<double> field = gather(now, n, size);
  int ok = 1;
  if (rank == 0) {
    ok = heat::write_field(argv[3], field);
    if (!ok) std::perror(argv[3]);
    std::printf("%d steps, residual %.17g\n", steps, residual);
  }
  MPI_Finalize();
  return ok ? 0 : 1;
}
