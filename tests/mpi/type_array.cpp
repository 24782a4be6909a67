// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Subarrays and distributed arrays against loops over all indices.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace {

std::mt19937 random_source(7);
int number(int from, int to) {
  return from + static_cast<int>(random_source() % static_cast<unsigned>(to - from + 1));
}

using Ints = std::vector<int>;

/// The elements of an array of `sizes` for which `mine(index)` holds, in memory order, as offsets into it.
template <class F>
Ints select(const Ints& sizes, bool fortran, F&& mine) {
  Ints chosen, index(sizes.size(), 0);
  const int total = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  for (int offset = 0; offset < total; ++offset) {
    int rest = offset;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const std::size_t i = fortran ? n : sizes.size() - 1 - n;
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    if (mine(index)) chosen.push_back(offset);
  }
  return chosen;
}

/// Whether the type covers these elements of an array with `total` ints.
bool covers(MPI_Datatype type, const Ints& elements, int total) {
  MPI_Type_commit(&type);
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  Ints array(static_cast<std::size_t>(total)), packed(elements.size() + 1);
  std::iota(array.begin(), array.end(), 0);
  int position = 0, size;
  MPI_Type_size(type, &size);
  bool good = lb == 0 && extent == total * 4L && size == static_cast<int>(4 * elements.size());
  if (good) {
    MPI_Pack(array.data(), 1, type, packed.data(), size, &position, MPI_COMM_WORLD);
    packed.pop_back();
    good = position == size && packed == elements;
  }
  MPI_Type_free(&type);
  return good;
}

bool subarray() {
  const int ndims = number(1, 4);
  const bool fortran = number(0, 1) == 1;
  Ints sizes, parts, starts;
  for (int i = 0; i < ndims; ++i) {
    sizes.push_back(number(1, 5));
    parts.push_back(number(1, sizes.back()));
    starts.push_back(number(0, sizes.back() - parts.back()));
  }
  MPI_Datatype type;
  MPI_Type_create_subarray(ndims, sizes.data(), parts.data(), starts.data(), fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                           MPI_INT, &type);
  const Ints elements = select(sizes, fortran, [&](const Ints& index) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < starts[i] || index[i] >= starts[i] + parts[i]) return false;
    }
    return true;
  });
  return covers(type, elements, std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>()));
}

bool darray() {
  const int ndims = number(1, 3);
  const bool fortran = number(0, 1) == 1;
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  Ints sizes, distribs, dargs, procs, blocks;
  int size = 1;
  for (int i = 0; i < ndims; ++i) {
    const int n = number(1, 9), kind = number(0, 2), p = kind == 2 ? 1 : number(1, 3);
    const int least = kind == 0 ? (n + p - 1) / p : 1;
    const bool by_default = kind == 2 || number(0, 1) == 1;
    sizes.push_back(n);
    distribs.push_back(kinds[kind]);
    procs.push_back(p);
    dargs.push_back(by_default ? MPI_DISTRIBUTE_DFLT_DARG : number(least, least + 2));
    blocks.push_back(kind == 2 ? n : by_default ? least : dargs.back());
    size *= p;
  }
  bool good = true;
  for (int rank = 0; rank < size; ++rank) {
    Ints coords(sizes.size());
    for (std::size_t i = sizes.size(), rest = static_cast<std::size_t>(rank); i-- > 0;) {
      coords[i] = static_cast<int>(rest % static_cast<std::size_t>(procs[i]));
      rest /= static_cast<std::size_t>(procs[i]);
    }
    MPI_Datatype type;
    MPI_Type_create_darray(size, rank, ndims, sizes.data(), distribs.data(), dargs.data(), procs.data(),
                           fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
    const Ints elements = select(sizes, fortran, [&](const Ints& index) {
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (index[i] / blocks[i] % procs[i] != coords[i]) return false;
      }
      return true;
    });
    good = covers(type, elements, std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>())) && good;
  }
  return good;
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  int errors = 0;
  for (int i = 0; i < 200; ++i) {
    if (!subarray()) std::printf("subarray %d is wrong\n", i), ++errors;
    if (!darray()) std::printf("darray %d is wrong\n", i), ++errors;
  }
  MPI_Finalize();
  return errors != 0;
}
