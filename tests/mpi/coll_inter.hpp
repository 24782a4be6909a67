// SPDX-License-Identifier: BSD-3-Clause
// The collectives on inter-communicators: between the even and the odd ranks, and between rank 0 and the others.
#pragma once

#include "coll_test.hpp"

namespace coll_test {
namespace inter {

struct Sides {
  MPI_Comm comm;
  bool left;
  int me, local, remote;
  /// An offset by which each side's data differs.
  int of(bool left_side) const { return left_side ? 1000 : 2000; }
  int mine() const { return of(left); }
  int theirs() const { return of(!left); }
  /// The root argument of each rank, for root `r` of the left or right side.
  int root(bool root_left, int r) const {
    if (left != root_left) return r;
    return me == r ? MPI_ROOT : MPI_PROC_NULL;
  }
};

inline std::vector<int> filled(int n, int first, int step = 1) {
  std::vector<int> v;
  for (int i = 0; i < n; ++i) v.push_back(first + i * step);
  return v;
}
inline std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

inline void rooted(const Sides& s, bool root_left, int r, int count) {
  const int root = s.root(root_left, r);
  const bool receives = s.left != root_left;
  context = "Bcast";
  std::vector<int> buffer = root == MPI_ROOT ? filled(count, 5) : std::vector<int>(at(count), -1);
  MPI_Bcast(buffer.data(), count, MPI_INT, root, s.comm);
  check(root == MPI_PROC_NULL || buffer == filled(count, 5), "data");

  context = "Gather";
  const int members = root == MPI_ROOT ? s.remote : 0;
  std::vector<int> all(at(members * count + 1), -1), want(all);
  for (int i = 0; i < members * count; ++i) want[at(i)] = s.theirs() + i / count * 10 + i % count;
  std::vector<int> mine = filled(count, s.mine() + s.me * 10);
  MPI_Gather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, root, s.comm);
  check(all == want, "data");

  context = "Gatherv";
  std::vector<int> counts, displs;
  int room = 0;
  for (int i = 0; i < members; ++i) {
    counts.push_back(i % 2 ? count : count / 2);
    displs.push_back(room);
    room += counts.back() + 1;
  }
  all.assign(at(room + 1), -1), want = all;
  for (int i = 0; i < members; ++i) {
    for (int k = 0; k < counts[at(i)]; ++k) want[at(displs[at(i)] + k)] = s.theirs() + i * 10 + k;
  }
  const int my_count = s.me % 2 ? count : count / 2;
  MPI_Gatherv(mine.data(), my_count, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, root, s.comm);
  check(all == want, "data");

  context = "Scatter";
  std::vector<int> sent = filled(members * count, 300), got(at(count), -1);
  MPI_Scatter(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, root, s.comm);
  check(!receives || got == filled(count, 300 + s.me * count), "data");

  context = "Scatterv";
  got.assign(at(count), -1);
  sent = filled(room + 1, 700);
  MPI_Scatterv(sent.data(), counts.data(), displs.data(), MPI_INT, got.data(), my_count, MPI_INT, root, s.comm);
  if (receives) {
    int displ = 0;
    for (int i = 0; i < s.me; ++i) displ += (i % 2 ? count : count / 2) + 1;
    for (int k = 0; k < my_count; ++k) check(got[at(k)] == 700 + displ + k, "data");
  }

  context = "Reduce";
  std::vector<int> sum(at(count), -1);
  MPI_Reduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, root, s.comm);
  for (int k = 0; k < count && root == MPI_ROOT; ++k) {
    int expected = 0;
    for (int i = 0; i < s.remote; ++i) expected += s.theirs() + i * 10 + k;
    check(sum[at(k)] == expected, "data");
  }
}

inline void rootless(const Sides& s, int count) {
  context = "Barrier";
  check(MPI_Barrier(s.comm) == MPI_SUCCESS, "code");

  // The two directions carry different amounts.
  const int out_count = s.left ? count : count + 2, in_count = s.left ? count + 2 : count;
  context = "Allgather";
  std::vector<int> mine = filled(out_count, s.mine() + s.me * 10), all(at(s.remote * in_count), -1);
  MPI_Allgather(mine.data(), out_count, MPI_INT, all.data(), in_count, MPI_INT, s.comm);
  for (int i = 0; i < s.remote; ++i) {
    for (int k = 0; k < in_count; ++k) check(all[at(i * in_count + k)] == s.theirs() + i * 10 + k, "data");
  }

  context = "Allgatherv";
  std::vector<int> counts, displs;
  int room = 0;
  for (int i = 0; i < s.remote; ++i) {
    counts.push_back(i % 2 ? count : 0);
    displs.push_back(room + 1);
    room += counts.back() + 1;
  }
  all.assign(at(room + 1), -1);
  MPI_Allgatherv(mine.data(), s.me % 2 ? count : 0, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, s.comm);
  for (int i = 0; i < s.remote; ++i) {
    for (int k = 0; k < counts[at(i)]; ++k) check(all[at(displs[at(i)] + k)] == s.theirs() + i * 10 + k, "data");
  }

  context = "Alltoall";
  std::vector<int> sent;
  for (int i = 0; i < s.remote * count; ++i)
    sent.push_back(s.mine() + s.me * 100 + i / std::max(count, 1) * 10 + i % std::max(count, 1));
  all.assign(at(s.remote * count), -1);
  MPI_Alltoall(sent.data(), count, MPI_INT, all.data(), count, MPI_INT, s.comm);
  for (int i = 0; i < s.remote; ++i) {
    for (int k = 0; k < count; ++k) check(all[at(i * count + k)] == s.theirs() + i * 100 + s.me * 10 + k, "data");
  }

  context = "Alltoallw";
  std::vector<int> sizes(at(s.remote), count), bytes;
  std::vector<MPI_Datatype> types(at(s.remote), MPI_INT);
  for (int i = 0; i < s.remote; ++i) bytes.push_back(i * count * static_cast<int>(sizeof(int)));
  all.assign(at(s.remote * count), -1);
  MPI_Alltoallw(sent.data(), sizes.data(), bytes.data(), types.data(), all.data(), sizes.data(), bytes.data(),
                types.data(), s.comm);
  for (int i = 0; i < s.remote; ++i) {
    for (int k = 0; k < count; ++k) check(all[at(i * count + k)] == s.theirs() + i * 100 + s.me * 10 + k, "data");
  }

  context = "Allreduce";
  mine = filled(count, s.mine() + s.me * 10);
  std::vector<int> sum(at(count), -1);
  MPI_Allreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, s.comm);
  for (int k = 0; k < count; ++k) {
    int expected = 0;
    for (int i = 0; i < s.remote; ++i) expected += s.theirs() + i * 10 + k;
    check(sum[at(k)] == expected, "data");
  }

  context = "Reduce_scatter";
  // Both groups share out as many elements: a multiple of both sizes.
  const int total = s.local * s.remote * count, each = total / s.local;
  mine = filled(total, s.mine() + s.me * 10);
  for (const bool block : {false, true}) {
    sum.assign(at(each), -1);
    counts.assign(at(s.local), each);
    if (block) {
      MPI_Reduce_scatter_block(mine.data(), sum.data(), each, MPI_INT, MPI_SUM, s.comm);
    } else {
      MPI_Reduce_scatter(mine.data(), sum.data(), counts.data(), MPI_INT, MPI_SUM, s.comm);
    }
    for (int k = 0; k < each; ++k) {
      int expected = 0;
      for (int i = 0; i < s.remote; ++i) expected += s.theirs() + i * 10 + s.me * each + k;
      check(sum[at(k)] == expected, block ? "block" : "data");
    }
  }
}

inline void test(bool left) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm local, inter;
  MPI_Comm_split(MPI_COMM_WORLD, left ? 0 : 1, rank, &local);
  // The leaders in the world: rank 0 is on the left in both splits, rank 1 on the right.
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, left ? 1 : 0, 5, &inter);
  Sides s{inter, left, 0, 0, 0};
  MPI_Comm_rank(inter, &s.me);
  MPI_Comm_size(inter, &s.local);
  MPI_Comm_remote_size(inter, &s.remote);
  for (const int count : {0, 1, 5, 5000}) {
    rootless(s, count);
    for (const bool root_left : {true, false}) {
      const int ranks = root_left == left ? s.local : s.remote;
      for (int r = 0; r < ranks; ++r) rooted(s, root_left, r, count);
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

}  // namespace inter

inline void inter_suite() {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  inter::test(rank % 2 == 0);
  inter::test(rank == 0);
}

}  // namespace coll_test
