// SPDX-License-Identifier: BSD-3-Clause
// ranks: 8
// Reordering: where ranks lie badly on hosts, less goes between hosts afterwards; on one host nothing changes; and the
// topology is the one that was asked for, whoever has which place.
#include <algorithm>
#include <vector>

#include "check.hpp"

namespace {

using Ints = std::vector<int>;

/// A communicator whose ranks are dealt out to the hosts in turn, as no launcher would; which host each rank is on.
struct Dealt {
  MPI_Comm comm;
  Ints host;  // the world rank of the first rank there
};

int first_of_host() {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int first = check::rank();
  MPI_Bcast(&first, 1, MPI_INT, 0, host);
  MPI_Comm_free(&host);
  return first;
}

Dealt deal() {
  const int me = check::rank();
  Dealt d;
  MPI_Comm_split(MPI_COMM_WORLD, 0, me % (check::size() / 2), &d.comm);
  d.host.resize(static_cast<std::size_t>(check::size(d.comm)));
  const int first = first_of_host();
  MPI_Allgather(&first, 1, MPI_INT, d.host.data(), 1, MPI_INT, d.comm);
  return d;
}

/// Edges of all ranks of a topology that leave their host.
int between_hosts(MPI_Comm c, const Ints& destinations) {
  Ints host(static_cast<std::size_t>(check::size(c)));
  const int first = first_of_host();
  MPI_Allgather(&first, 1, MPI_INT, host.data(), 1, MPI_INT, c);
  int mine = 0, all = 0;
  for (const int d : destinations) mine += d != MPI_PROC_NULL && host[static_cast<std::size_t>(d)] != first;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, c);
  return all;
}

bool on_several_hosts(const Dealt& d) {
  return std::any_of(d.host.begin(), d.host.end(), [&](int h) { return h != d.host[0]; });
}

/// Whoever has rank r has the coordinates, and the neighbours, of r.
Ints grid_neighbours(MPI_Comm c) {
  Ints n;
  for (int dim = 0; dim < 2; ++dim) {
    int down, up;
    MPI_Cart_shift(c, dim, 1, &down, &up);
    n.push_back(down), n.push_back(up);
  }
  return n;
}

void grid(const Dealt& d) {
  const int dims[] = {4, 2}, periods[] = {0, 0};
  int cut[2];
  for (const int reorder : {0, 1}) {
    MPI_Comm c;
    MPI_Cart_create(d.comm, 2, dims, periods, reorder, &c);
    cut[reorder] = between_hosts(c, grid_neighbours(c));
    int coords[2], place = -1, mapped = -1;
    MPI_Cart_coords(c, check::rank(c), 2, coords);
    CHECK(coords[0] * 2 + coords[1] == check::rank(c));
    MPI_Cart_map(d.comm, 2, dims, periods, &mapped);
    MPI_Comm_rank(c, &place);
    if (reorder) CHECK(place == mapped);
    if (!reorder || !on_several_hosts(d)) CHECK(place == check::rank(d.comm));
    MPI_Comm_free(&c);
  }
  // Two blocks of 2 by 2 touch along two edges, which both ends count.
  if (on_several_hosts(d)) CHECK(cut[0] > 4 && cut[1] == 4);
}

/// A ring that visits the places 0 2 4 6 1 3 5 7.
int next_of(int place) {
  return place == 7 ? 0 : place % 2 == 0 && place == 6 ? 1 : place + 2;
}
int before(int place) {
  int r = 0;
  while (next_of(r) != place) ++r;
  return r;
}

void graph(const Dealt& d) {
  Ints index, edges;
  for (int r = 0; r < 8; ++r) {
    edges.push_back(next_of(r)), edges.push_back(before(r));
    index.push_back(static_cast<int>(edges.size()));
  }
  for (const int reorder : {0, 1}) {
    MPI_Comm c;
    MPI_Graph_create(d.comm, 8, index.data(), edges.data(), reorder, &c);
    const int me = check::rank(c);
    int to[2];
    MPI_Graph_neighbors(c, me, 2, to);
    CHECK(to[0] == next_of(me) && to[1] == before(me));
    const int cut = between_hosts(c, {to[0]});
    if (reorder && on_several_hosts(d)) CHECK(cut == 2);
    MPI_Comm_free(&c);
  }
}

/// The same ring, of which each rank tells its own edges; heavy ones pull harder.
void dist_graph(const Dealt& d) {
  const int me = check::rank(d.comm);
  const int from = before(me), to = next_of(me), in = 100 + from, out = 100 + me;
  for (const bool weighted : {false, true}) {
    MPI_Comm c;
    MPI_Dist_graph_create_adjacent(d.comm, 1, &from, weighted ? &in : MPI_UNWEIGHTED, 1, &to,
                                   weighted ? &out : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &c);
    const int now = check::rank(c);
    int source, destination, source_weight = 0, destination_weight = 0;
    MPI_Dist_graph_neighbors(c, 1, &source, weighted ? &source_weight : MPI_UNWEIGHTED, 1, &destination,
                             weighted ? &destination_weight : MPI_UNWEIGHTED);
    CHECK(source == before(now) && destination == next_of(now));
    if (weighted) CHECK(source_weight == 100 + before(now) && destination_weight == 100 + now);
    if (on_several_hosts(d)) CHECK(between_hosts(c, {destination}) == 2);
    // What travels along the edges says the same.
    int heard = -1;
    MPI_Neighbor_alltoall(&now, 1, MPI_INT, &heard, 1, MPI_INT, c);
    CHECK(heard == before(now));
    MPI_Comm_free(&c);
  }
}

/// Edges that a third rank tells of, one of them much heavier than the others: its ends come to one host.
void heavy(const Dealt& d) {
  const int me = check::rank(d.comm);
  const int source = me, degree = 7;
  Ints to, weights;
  for (int r = 0; r < 8; ++r) {
    if (r == me) continue;
    to.push_back(r);
    weights.push_back((me == 0 && r == 5) || (me == 5 && r == 0) ? 1000 : 1);
  }
  MPI_Comm c;
  MPI_Dist_graph_create(d.comm, 1, &source, &degree, to.data(), weights.data(), MPI_INFO_NULL, 1, &c);
  Ints host(8);
  const int first = first_of_host();
  MPI_Allgather(&first, 1, MPI_INT, host.data(), 1, MPI_INT, c);
  CHECK(host[0] == host[5]);
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Dealt d = deal();
  grid(d);
  graph(d);
  dist_graph(d);
  heavy(d);
  MPI_Comm_free(&d.comm);
  return check::finish();
}
