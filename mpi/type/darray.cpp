// SPDX-License-Identifier: BSD-3-Clause
// Types of one process's share of an array that is distributed over a grid of processes, as HPF has it.
#include <algorithm>

#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

/// One dimension of the array as this process sees it.
struct Share {
  MPI_Count size = 0;   // of the whole array, elements
  MPI_Count block = 0;  // consecutive elements that go to one process
  MPI_Count procs = 1;  // of the grid
  MPI_Count coord = 0;  // mine
};

[[noreturn]] void bad_dimension(int i, const std::string& what) {
  fail_call(MPI_ERR_ARG, "dimension " + std::to_string(i) + ": " + what);
}

/// Block length by the kind of distribution and its argument.
MPI_Count block_of(int i, MPI_Count size, int distribution, int darg, int procs) {
  if (distribution == MPI_DISTRIBUTE_NONE) {
    if (procs != 1) bad_dimension(i, "not distributed, but over " + std::to_string(procs) + " processes");
    return size;
  }
  if (distribution != MPI_DISTRIBUTE_BLOCK && distribution != MPI_DISTRIBUTE_CYCLIC) {
    bad_dimension(i, "no such distribution: " + std::to_string(distribution));
  }
  const bool cyclic = distribution == MPI_DISTRIBUTE_CYCLIC;
  if (darg == MPI_DISTRIBUTE_DFLT_DARG) return cyclic ? 1 : (size - 1) / procs + 1;
  if (darg < 1) bad_dimension(i, "block length is " + std::to_string(darg) + ", must be positive");
  if (!cyclic && (size - 1) / procs >= darg) {
    bad_dimension(i, std::to_string(procs) + " blocks of " + std::to_string(darg) + " do not cover " +
                         std::to_string(size) + " elements");
  }
  return darg;
}

/// My elements of one dimension: blocks of `share.block` elements `stride` bytes apart, at their places in the array.
LayoutRef distribute(const Share& share, std::int64_t stride, const Layout& element) {
  // Dividing before multiplying: block * procs may not fit where the array does.
  const MPI_Count blocks = (share.size - 1) / share.block + 1;  // of all processes, the last perhaps short
  const MPI_Count mine = share.coord < blocks ? (blocks - 1 - share.coord) / share.procs + 1 : 0;
  const MPI_Count last = mine == 0 ? 0 : share.coord + (mine - 1) * share.procs;  // my last block
  const MPI_Count tail = mine == 0 ? 0 : std::min(share.block, share.size - last * share.block);
  const auto block = [&](MPI_Count length) {
    return checked(Layout::hvector(static_cast<std::uint64_t>(length), 1, stride, element));
  };
  if (mine == 0) return block(0);

  const std::int64_t distance = element_distance(share.block, stride);  // between blocks
  const LayoutRef rest = block(tail);
  const std::int64_t places[] = {element_distance(share.coord, distance), element_distance(last, distance)};
  const std::uint64_t once[] = {1, 1};
  if (mine == 1) return checked(Layout::hindexed({once, 1}, {places, 1}, *rest));
  const LayoutRef whole = checked(Layout::hvector(static_cast<std::uint64_t>(mine - 1), 1,
                                                  element_distance(share.procs, distance), *block(share.block)));
  const Layout* const parts[] = {whole.get(), rest.get()};
  return checked(Layout::structure(once, places, parts));
}

/// The arguments that say where a process stands.
struct Grid {
  int size;
  int rank;
  int ndims;
  const int* distribs;
  const int* dargs;
  const int* psizes;
};

template <class Int>
std::vector<Share> shares_of(const Grid& grid, const Int* gsizes) {
  if (grid.ndims < 1) fail_call(MPI_ERR_DIMS, "argument ndims is " + std::to_string(grid.ndims) + ", must be positive");
  if (grid.size < 1) fail_call(MPI_ERR_ARG, "argument size is " + std::to_string(grid.size) + ", must be positive");
  if (grid.rank < 0 || grid.rank >= grid.size) {
    fail_call(MPI_ERR_RANK,
              "argument rank is " + std::to_string(grid.rank) + ", must be in 0.." + std::to_string(grid.size - 1));
  }
  array_arg(gsizes, grid.ndims, "array_of_gsizes");
  array_arg(grid.distribs, grid.ndims, "array_of_distribs");
  array_arg(grid.dargs, grid.ndims, "array_of_dargs");
  array_arg(grid.psizes, grid.ndims, "array_of_psizes");

  std::vector<Share> shares(static_cast<std::size_t>(grid.ndims));
  std::int64_t procs = 1;
  for (int i = 0; i < grid.ndims; ++i) {
    const int p = grid.psizes[i];
    if (gsizes[i] < 1) bad_dimension(i, "array size is " + std::to_string(gsizes[i]) + ", must be positive");
    if (p < 1) bad_dimension(i, "grid size is " + std::to_string(p) + ", must be positive");
    procs = std::min<std::int64_t>(procs * p, std::int64_t{grid.size} + 1);  // any product beyond size is as wrong
    shares[static_cast<std::size_t>(i)] = {gsizes[i], block_of(i, gsizes[i], grid.distribs[i], grid.dargs[i], p), p, 0};
  }
  if (procs != grid.size) fail_call(MPI_ERR_ARG, "the product of array_of_psizes is not " + std::to_string(grid.size));

  // Ranks are laid out in the grid row by row, whatever the order of the array.
  MPI_Count rank = grid.rank;
  for (std::size_t i = shares.size(); i-- > 0; rank /= shares[i].procs) shares[i].coord = rank % shares[i].procs;
  return shares;
}

template <class Int>
void make_darray(const Grid& grid, const Int* gsizes, int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const std::vector<Share> shares = shares_of(grid, gsizes);
  check_order(order);
  Datatype& of = type_arg(oldtype, "oldtype");

  LayoutRef part = of.layout;
  std::int64_t stride = of.layout->extent();  // between neighbours in the dimension at hand, bytes
  for (std::size_t n = 0; n < shares.size(); ++n) {
    const Share& share = shares[order == MPI_ORDER_FORTRAN ? n : shares.size() - 1 - n];
    part = distribute(share, stride, *part);
    stride = element_distance(share.size, stride);
  }

  Arguments<Int> arguments(MPI_COMBINER_DARRAY);
  arguments.integer(grid.size).integer(grid.rank).integer(grid.ndims).counts(gsizes, grid.ndims);
  arguments.integers(grid.distribs, grid.ndims).integers(grid.dargs, grid.ndims).integers(grid.psizes, grid.ndims);
  arguments.integer(order).type(of);
  publish_type(newtype, Layout::resized(*part, 0, stride), arguments.take());
}

}  // namespace

RMQ_MPI(int, Type_create_darray,
        (int size, int rank, int ndims, const int gsizes[], const int distribs[], const int dargs[], const int psizes[],
         int order, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_darray({size, rank, ndims, distribs, dargs, psizes}, gsizes, order, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_darray_c,
        (int size, int rank, int ndims, const MPI_Count gsizes[], const int distribs[], const int dargs[],
         const int psizes[], int order, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_darray({size, rank, ndims, distribs, dargs, psizes}, gsizes, order, oldtype, newtype); });
}

}  // namespace rmq::mpi
