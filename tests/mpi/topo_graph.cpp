// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Graph and distributed graph topologies: what was told comes back, weights, duplicates, errors.
#include <algorithm>
#include <vector>

#include "check.hpp"

namespace {

int kind(MPI_Comm comm) {
  int k;
  MPI_Topo_test(comm, &k);
  return k;
}

/// The example of the standard: 0-1, 0-3, 2-3.
const int kIndex[] = {2, 3, 4, 6}, kEdges[] = {1, 3, 0, 3, 0, 2};

void graph() {
  MPI_Comm c, d;
  MPI_Graph_create(MPI_COMM_WORLD, 4, kIndex, kEdges, 0, &c);
  MPI_Comm_dup(c, &d);
  MPI_Comm_free(&c);
  CHECK(kind(d) == MPI_GRAPH);
  int nodes, edges;
  MPI_Graphdims_get(d, &nodes, &edges);
  CHECK(nodes == 4 && edges == 6);
  int index[4], list[6];
  MPI_Graph_get(d, 4, 6, index, list);
  CHECK(std::equal(index, index + 4, kIndex) && std::equal(list, list + 6, kEdges));
  for (int r = 0; r < 4; ++r) {
    int n;
    MPI_Graph_neighbors_count(d, r, &n);
    const int first = r ? kIndex[r - 1] : 0;
    CHECK(n == kIndex[r] - first);
    MPI_Graph_neighbors(d, r, n, list);
    CHECK(std::equal(list, list + n, kEdges + first));
  }
  MPI_Comm_free(&d);

  // Fewer nodes than processes, one without edges, one with an edge to itself and one twice.
  const int few[] = {0, 3, 4}, ends[] = {1, 2, 2, 0};
  MPI_Graph_create(MPI_COMM_WORLD, 3, few, ends, 1, &c);
  CHECK((c == MPI_COMM_NULL) == (check::rank() == 3));
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  MPI_Graph_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &c);
  CHECK(c == MPI_COMM_NULL);
  int place;
  MPI_Graph_map(MPI_COMM_WORLD, 3, few, ends, &place);
  CHECK((place == MPI_UNDEFINED) == (check::rank() == 3) && place < 3);  // on several hosts perhaps another
}

void graph_errors() {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm c = world;
  int n, list[6];
  CHECK_CLASS(MPI_Graph_create(world, 5, kIndex, kEdges, 0, &c), MPI_ERR_ARG);
  CHECK(c == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Graph_create(world, -1, kIndex, kEdges, 0, &c), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 4, nullptr, kEdges, 0, &c), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(world, 2, kIndex, kEdges, 0, &c), MPI_ERR_ARG);  // an edge to node 3
  const int falling[] = {2, 1};
  CHECK_CLASS(MPI_Graph_create(world, 2, falling, kEdges, 0, &c), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_neighbors_count(world, 0, &n), MPI_ERR_TOPOLOGY);
  MPI_Graph_create(world, 4, kIndex, kEdges, 0, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Graph_neighbors_count(c, 4, &n), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Graph_neighbors(c, 3, 1, list), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_get(c, 4, 5, list, list), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cartdim_get(c, &n), MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&c);
}

struct Seen {
  int in, out, weighted;
  std::vector<int> sources, source_weights, destinations, destination_weights;
};
Seen look(MPI_Comm c) {
  CHECK(kind(c) == MPI_DIST_GRAPH);
  Seen s{};
  MPI_Dist_graph_neighbors_count(c, &s.in, &s.out, &s.weighted);
  s.sources.resize(static_cast<std::size_t>(s.in));
  s.destinations.resize(static_cast<std::size_t>(s.out));
  s.source_weights.assign(static_cast<std::size_t>(s.in), -1);
  s.destination_weights.assign(static_cast<std::size_t>(s.out), -1);
  MPI_Dist_graph_neighbors(c, s.in, s.sources.data(), s.weighted ? s.source_weights.data() : MPI_UNWEIGHTED, s.out,
                           s.destinations.data(), s.weighted ? s.destination_weights.data() : MPI_UNWEIGHTED);
  return s;
}

using Ints = std::vector<int>;

/// Every rank to the next, weight 10 + source, and all to 0, twice from rank 3; each told by another rank.
void told_by_others() {
  const int me = check::rank(), next = (me + 1) % 4;  // I speak for `next`
  const int sources[] = {next, next}, degrees[] = {1, next == 3 ? 2 : 1};
  const int destinations[] = {(next + 1) % 4, 0, 0}, weights[] = {10 + next, 20 + next, 30 + next};
  for (const bool weighted : {true, false}) {
    MPI_Comm c, d;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, destinations, weighted ? weights : MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &c);
    MPI_Comm_dup(c, &d);
    MPI_Comm_free(&c);
    const Seen s = look(d);
    CHECK(s.weighted == weighted);
    CHECK(s.in == (me == 0 ? 6 : 1) && s.out == (me == 3 ? 3 : 2));
    CHECK(s.destinations == (me == 3 ? Ints{0, 0, 0} : Ints{(me + 1) % 4, 0}));
    Ints in = s.sources;
    std::sort(in.begin(), in.end());
    CHECK(in == (me == 0 ? Ints{0, 1, 2, 3, 3, 3} : Ints{me - 1}));
    if (weighted) {
      CHECK(s.destination_weights == (me == 3 ? Ints{13, 23, 33} : Ints{10 + me, 20 + me}));
      for (std::size_t i = 0; i < s.sources.size(); ++i) CHECK(s.source_weights[i] % 10 == s.sources[i]);
    }
    MPI_Comm_free(&d);
  }
}

void adjacent() {
  const int me = check::rank(), left = (me + 3) % 4, right = (me + 1) % 4;
  const int sources[] = {left, right}, in[] = {left * 4 + me, right * 4 + me};
  const int destinations[] = {right, left}, out[] = {me * 4 + right, me * 4 + left};
  MPI_Comm c;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, in, 2, destinations, out, MPI_INFO_NULL, 1, &c);
  const Seen s = look(c);
  CHECK(s.weighted && s.sources == Ints(sources, sources + 2) &&
        s.destinations == Ints(destinations, destinations + 2));
  CHECK(s.source_weights == Ints(in, in + 2) && s.destination_weights == Ints(out, out + 2));
  int one = -1;  // less room: the first part
  CHECK(MPI_Dist_graph_neighbors(c, 1, &one, MPI_UNWEIGHTED, 0, nullptr, nullptr) == MPI_SUCCESS && one == left);
  MPI_Comm_free(&c);
  // 0 -> 1 alone.
  const int zero = 0, other = 1, weight = 5;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 1, &zero, me == 1 ? &weight : MPI_WEIGHTS_EMPTY, me == 0, &other,
                                 me == 0 ? &weight : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &c);
  const Seen t = look(c);
  CHECK(t.weighted && t.in == (me == 1) && t.out == (me == 0));
  MPI_Comm_free(&c);
}

void dist_errors() {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm c = world;
  const int one = 1, nine = 9, minus = -1;
  const auto make = [&](int n, const int* sources, const int* degrees, const int* destinations, const int* weights) {
    return MPI_Dist_graph_create(world, n, sources, degrees, destinations, weights, MPI_INFO_NULL, 0, &c);
  };
  CHECK_CLASS(make(-1, &one, &one, &one, &one), MPI_ERR_ARG);
  CHECK_CLASS(make(1, &nine, &one, &one, &one), MPI_ERR_RANK);
  CHECK_CLASS(make(1, &one, &minus, &one, &one), MPI_ERR_ARG);
  CHECK_CLASS(make(1, &one, &one, &minus, &one), MPI_ERR_RANK);
  CHECK_CLASS(make(1, &one, &one, &one, &minus), MPI_ERR_ARG);
  CHECK_CLASS(make(1, &one, &one, &one, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG);
  CHECK_CLASS(make(1, nullptr, &one, &one, &one), MPI_ERR_ARG);
  CHECK(c == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(world, 1, &one, MPI_UNWEIGHTED, 1, &one, &one, MPI_INFO_NULL, 0, &c),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(world, 1, &nine, &one, 1, &one, &one, MPI_INFO_NULL, 0, &c), MPI_ERR_RANK);
  int a, b, w;
  CHECK_CLASS(MPI_Dist_graph_neighbors_count(world, &a, &b, &w), MPI_ERR_TOPOLOGY);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  graph();
  graph_errors();
  told_by_others();
  adjacent();
  dist_errors();
  return check::finish();
}
