// SPDX-License-Identifier: BSD-3-Clause
// Chapter 8.5.3, 8.5.5, 8.5.8: topologies by a graph that every process describes whole; what kind a topology is of.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "engine/comm/together.hpp"
#include "engine/comm/topology.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// A checked graph over the first nodes of a communicator.
Graph graph_arg(const Comm& c, int nnodes, const int* index, const int* edges) {
  if (nnodes < 0 || nnodes > c.size()) {
    fail_call(MPI_ERR_ARG, fmt::format("invalid nnodes {} (argument nnodes; allowed 0..{})", nnodes, c.size()));
  }
  array_arg(index, nnodes, "index");
  for (int i = 0, before = 0; i < nnodes; before = index[i++]) {
    if (index[i] < before) {
      fail_call(MPI_ERR_ARG, fmt::format("index[{}] is {}, less than {} (argument index)", i, index[i], before));
    }
  }
  const int nedges = nnodes > 0 ? index[nnodes - 1] : 0;
  array_arg(edges, nedges, "edges");
  for (int i = 0; i < nedges; ++i) {
    if (edges[i] < 0 || edges[i] >= nnodes) {
      fail_call(MPI_ERR_ARG, fmt::format("edges[{}] is {} (argument edges; allowed 0..{})", i, edges[i], nnodes - 1));
    }
  }
  return {{index, index + nnodes}, {edges, edges + nedges}};
}

std::vector<int> neighbours_of(const Graph& g, int node) {
  const auto i = static_cast<std::size_t>(node);
  return {g.edges.begin() + (i == 0 ? 0 : g.index[i - 1]), g.edges.begin() + g.index[i]};
}

/// Which of the first ranks takes each node, where they may be reordered.
std::vector<int> places_in(const Comm& c, const Graph& g) {
  const int n = static_cast<int>(g.index.size());
  const std::vector<int> hosts = hosts_of_first(c, n);
  if (!on_several_hosts(hosts)) return in_order(n);
  PlacementGraph graph(n);
  for (int r = 0; r < n; ++r) {
    for (const int to : neighbours_of(g, r)) graph.add(r, to);
  }
  return place_on_hosts(graph, hosts);
}

MPI_Comm create(Comm& old, Graph graph, bool reorder) {
  if (graph.index.empty()) return MPI_COMM_NULL;
  note_collective(old);
  const int n = static_cast<int>(graph.index.size());
  Comm* c = ft::make_together(old, [&](Comm& own) {
    return create_comm(own, world_ranks(old, reorder ? places_in(old, graph) : in_order(n)));
  });
  if (!c) return MPI_COMM_NULL;
  const std::vector<int> neighbours = neighbours_of(graph, c->rank);
  c->topology = std::make_shared<Topology>(Topology{std::move(graph), {neighbours, neighbours}});
  return c->handle;
}

}  // namespace

RMQ_MPI(int, Topo_test, (MPI_Comm comm, int* status)) {
  return enter(comm, [&](Comm& c) {
    const auto kind = [](const auto& shape) { return shape.kKind; };
    *out(status, "status") = c.topology ? std::visit(kind, c.topology->shape) : MPI_UNDEFINED;
  });
}

RMQ_MPI(int, Graph_create,
        (MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder, MPI_Comm* comm_graph)) {
  return enter(comm_old, [&](Comm& c) {
    check_base(c, comm_graph, "comm_graph");
    *comm_graph = create(c, graph_arg(c, nnodes, indx, edges), reorder != 0);
  });
}

RMQ_MPI(int, Graph_map, (MPI_Comm comm, int nnodes, const int indx[], const int edges[], int* newrank)) {
  return enter(comm, [&](Comm& c) {
    out(newrank, "newrank");
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    *newrank = own_place(c, places_in(c, graph_arg(c, nnodes, indx, edges)));
  });
}

RMQ_MPI(int, Graphdims_get, (MPI_Comm comm, int* nnodes, int* nedges)) {
  return enter(comm, [&](Comm& c) {
    const Graph& g = shape_arg<Graph>(c);
    out(nnodes, "nnodes"), out(nedges, "nedges");
    *nnodes = static_cast<int>(g.index.size());
    *nedges = static_cast<int>(g.edges.size());
  });
}

RMQ_MPI(int, Graph_get, (MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])) {
  return enter(comm, [&](Comm& c) {
    const Graph& g = shape_arg<Graph>(c);
    out_values(g.index, indx, maxindex, "index", "maxindex");
    out_values(g.edges, edges, maxedges, "edges", "maxedges");
  });
}

RMQ_MPI(int, Graph_neighbors_count, (MPI_Comm comm, int rank, int* nneighbors)) {
  return enter(comm, [&](Comm& c) {
    const Graph& g = shape_arg<Graph>(c);
    *out(nneighbors, "nneighbors") = static_cast<int>(neighbours_of(g, member_arg(c, rank)).size());
  });
}

RMQ_MPI(int, Graph_neighbors, (MPI_Comm comm, int rank, int maxneighbors, int neighbors[])) {
  return enter(comm, [&](Comm& c) {
    const Graph& g = shape_arg<Graph>(c);
    out_values(neighbours_of(g, member_arg(c, rank)), neighbors, maxneighbors, "neighbors", "maxneighbors");
  });
}

}  // namespace rmq::mpi
