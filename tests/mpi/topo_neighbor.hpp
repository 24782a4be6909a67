// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives on all topologies: every block comes from the right neighbour's right block, also where two
// ranks are neighbours several times; blocks without a neighbour stay as they are. For 4 ranks.
#pragma once

#include <vector>

#include "check.hpp"

namespace neighbor_test {

using Ints = std::vector<int>;
constexpr int kUntouched = -77;

inline MPI_Comm cart(const Ints& dims, const Ints& periods) {
  MPI_Comm c;
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(), periods.data(), 0, &c);
  return c;
}

struct Around {
  Ints sources, destinations;
  Ints partner;  // for each source: which of its destination blocks is for me
};

/// From the inquiry functions of a grid; what goes down arrives from above.
inline Around around_grid(MPI_Comm c) {
  int n;
  MPI_Cartdim_get(c, &n);
  Around a;
  for (int i = 0; i < n; ++i) {
    int down, up;
    MPI_Cart_shift(c, i, 1, &down, &up);
    a.sources.insert(a.sources.end(), {down, up});
    a.partner.insert(a.partner.end(), {2 * i + 1, 2 * i});
  }
  a.destinations = a.sources;
  return a;
}

/// What rank `from` puts into element `k` of its block `block`.
inline int value(int from, int block, int k) {
  return from * 10000 + block * 100 + k;
}

/// All ten functions with blocks of `n` ints.
inline void all_functions(MPI_Comm c, const Around& a, int n) {
  const int me = check::rank(c);
  const int in = static_cast<int>(a.sources.size()), out = static_cast<int>(a.destinations.size());
  const auto size = [](int x) { return static_cast<std::size_t>(x); };
  Ints send(size(out * n)), recv;
  for (int i = 0; i < out; ++i) {
    for (int k = 0; k < n; ++k) send[size(i * n + k)] = value(me, i, k);
  }
  // `gathered`: every destination gets the sender's block 0. Blocks of recv lie `stride` ints apart.
  const auto verify = [&](bool gathered, int stride) {
    bool good = true;
    for (int i = 0; i < in; ++i) {
      const int from = a.sources[size(i)];
      for (int k = 0; k < stride; ++k) {
        const bool data = from != MPI_PROC_NULL && k < n;
        const int want = data ? value(from, gathered ? 0 : a.partner[size(i)], k) : kUntouched;
        good = good && recv[size(i * stride + k)] == want;
      }
    }
    CHECK(good);
  };
  const auto ok = [](int code) { CHECK(code == MPI_SUCCESS); };
  const auto fresh = [&](int stride) { recv.assign(size(in * stride), kUntouched); };
  if (out == 0) send.assign(size(n), value(me, 0, 0));

  fresh(n), ok(MPI_Neighbor_allgather(send.data(), n, MPI_INT, recv.data(), n, MPI_INT, c)), verify(true, n);
  fresh(n), ok(MPI_Neighbor_allgather_c(send.data(), n, MPI_INT, recv.data(), n, MPI_INT, c)), verify(true, n);
  fresh(n), ok(MPI_Neighbor_alltoall(send.data(), n, MPI_INT, recv.data(), n, MPI_INT, c)), verify(false, n);
  fresh(n), ok(MPI_Neighbor_alltoall_c(send.data(), n, MPI_INT, recv.data(), n, MPI_INT, c)), verify(false, n);

  const int wide = n + 3;  // gaps between the blocks
  Ints counts_out(size(out), n), counts_in(size(in), n), at_out(size(out)), at_in(size(in));
  for (int i = 0; i < out; ++i) at_out[size(i)] = i * n;
  for (int i = 0; i < in; ++i) at_in[size(i)] = i * wide;
  const std::vector<MPI_Count> large_out(size(out), n), large_in(size(in), n);
  const std::vector<MPI_Aint> far_out(at_out.begin(), at_out.end()), far_in(at_in.begin(), at_in.end());
  fresh(wide);
  ok(MPI_Neighbor_allgatherv(send.data(), n, MPI_INT, recv.data(), counts_in.data(), at_in.data(), MPI_INT, c));
  verify(true, wide), fresh(wide);
  ok(MPI_Neighbor_allgatherv_c(send.data(), n, MPI_INT, recv.data(), large_in.data(), far_in.data(), MPI_INT, c));
  verify(true, wide), fresh(wide);
  ok(MPI_Neighbor_alltoallv(send.data(), counts_out.data(), at_out.data(), MPI_INT, recv.data(), counts_in.data(),
                            at_in.data(), MPI_INT, c));
  verify(false, wide), fresh(wide);
  ok(MPI_Neighbor_alltoallv_c(send.data(), large_out.data(), far_out.data(), MPI_INT, recv.data(), large_in.data(),
                              far_in.data(), MPI_INT, c));
  verify(false, wide), fresh(wide);

  std::vector<MPI_Aint> bytes_out, bytes_in;
  for (const int x : at_out) bytes_out.push_back(x * 4);
  for (const int x : at_in) bytes_in.push_back(x * 4);
  // Blocks of nobody may have any type.
  std::vector<MPI_Datatype> types_out, types_in;
  for (const int r : a.destinations) types_out.push_back(r == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT);
  for (const int r : a.sources) types_in.push_back(r == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT);
  ok(MPI_Neighbor_alltoallw(send.data(), counts_out.data(), bytes_out.data(), types_out.data(), recv.data(),
                            counts_in.data(), bytes_in.data(), types_in.data(), c));
  verify(false, wide), fresh(wide);
  ok(MPI_Neighbor_alltoallw_c(send.data(), large_out.data(), bytes_out.data(), types_out.data(), recv.data(),
                              large_in.data(), bytes_in.data(), types_in.data(), c));
  verify(false, wide);
}

inline void grids(const Ints& sizes) {
  const struct {
    Ints dims, periods;
  } shapes[] = {
      {{4}, {0}},
      {{4}, {1}},
      {{1}, {0}},
      {{1}, {1}},
      {{2}, {1}},
      {{2, 2}, {1, 1}},
      {{2, 2}, {0, 1}},
      {{1, 1, 1}, {1, 0, 1}},
      {{1, 2, 2}, {1, 1, 0}},
      {{4, 1}, {1, 1}},
  };
  for (const auto& s : shapes) {
    MPI_Comm c = cart(s.dims, s.periods);
    if (c == MPI_COMM_NULL) continue;
    for (const int n : sizes) all_functions(c, around_grid(c), n);
    MPI_Comm d;
    MPI_Comm_dup(c, &d);
    all_functions(d, around_grid(d), 2);
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
  }
}

/// The ring of one or two processes has the same neighbour on both sides.
inline void ring_of_two() {
  MPI_Comm c = cart({2}, {1});
  if (c == MPI_COMM_NULL) return;
  const int me = check::rank(c), other = 1 - me;
  const int down_up[] = {me * 10 + 1, me * 10 + 2};
  int got[2];
  MPI_Neighbor_alltoall(down_up, 1, MPI_INT, got, 1, MPI_INT, c);
  CHECK(got[0] == other * 10 + 2 && got[1] == other * 10 + 1);
  MPI_Comm_free(&c);
}

inline void graphs() {
  const int me = check::rank();
  const int index[] = {2, 3, 4, 6}, edges[] = {1, 3, 0, 3, 0, 2};
  const Ints around[] = {{1, 3}, {0}, {3}, {0, 2}}, partner[] = {{0, 0}, {0}, {1}, {1, 0}};
  MPI_Comm c;
  MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &c);
  for (const int n : {1, 40000}) all_functions(c, {around[me], around[me], partner[me]}, n);
  MPI_Comm_free(&c);

  // One way only: everybody to rank 0, twice, and rank 0 to itself as well: several messages keep their order.
  const int zero[] = {0, 0}, from[] = {3, 0, 1, 2, 3, 2, 1, 0};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 0 ? 8 : 0, from, MPI_UNWEIGHTED, 2, zero, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &c);
  Around a{{}, {0, 0}, {}};
  if (me == 0) a = {Ints(from, from + 8), {0, 0}, {0, 0, 0, 0, 1, 1, 1, 1}};
  for (const int n : {1, 40000}) all_functions(c, a, n);
  MPI_Comm_free(&c);
}

/// The borders of an array go into the margins of the neighbours' arrays, all in one array of each.
inline void halo() {
  constexpr int kInside = 3, kSide = kInside + 2;
  MPI_Comm c = cart({2, 2}, {1, 1});
  const int me = check::rank(c);
  // Each element knows its place in the whole 6 x 6 torus.
  const auto place = [](int row, int column) { return (row + 6) % 6 * 6 + (column + 6) % 6; };
  const int row0 = me / 2 * kInside, column0 = me % 2 * kInside;
  int a[kSide][kSide];
  for (int i = 0; i < kSide; ++i) {
    for (int k = 0; k < kSide; ++k) {
      const bool inside = i > 0 && i <= kInside && k > 0 && k <= kInside;
      a[i][k] = inside ? place(row0 + i - 1, column0 + k - 1) : kUntouched;
    }
  }
  const auto strip = [&](int row, int column, int rows, int columns) {
    const int sizes[] = {kSide, kSide}, part[] = {rows, columns}, start[] = {row, column};
    MPI_Datatype t;
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &t);
    MPI_Type_commit(&t);
    return t;
  };
  MPI_Datatype out[] = {strip(1, 1, 1, kInside), strip(kInside, 1, 1, kInside), strip(1, 1, kInside, 1),
                        strip(1, kInside, kInside, 1)};
  MPI_Datatype in[] = {strip(0, 1, 1, kInside), strip(kInside + 1, 1, 1, kInside), strip(1, 0, kInside, 1),
                       strip(1, kInside + 1, kInside, 1)};
  const int ones[] = {1, 1, 1, 1};
  const MPI_Aint start[] = {0, 0, 0, 0};
  CHECK(MPI_Neighbor_alltoallw(a, ones, start, out, a, ones, start, in, c) == MPI_SUCCESS);
  for (int i = 0; i < kSide; ++i) {
    for (int k = 0; k < kSide; ++k) {
      const bool corner = (i == 0 || i == kSide - 1) && (k == 0 || k == kSide - 1);
      CHECK(a[i][k] == (corner ? kUntouched : place(row0 + i - 1, column0 + k - 1)));
    }
  }
  for (int i = 0; i < 4; ++i) MPI_Type_free(&out[i]), MPI_Type_free(&in[i]);
  MPI_Comm_free(&c);
}

inline void suite(const Ints& sizes) {
  grids(sizes);
  ring_of_two();
  graphs();
  halo();
}

}  // namespace neighbor_test
