// SPDX-License-Identifier: BSD-3-Clause
// Chapter 8.5.4, 8.5.5: topologies by a graph of which each process describes a part.
#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "engine/coll/coll.hpp"
#include "engine/comm/together.hpp"
#include "engine/comm/topology.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

using Ints = std::vector<int>;

/// MPI_UNWEIGHTED is an address, which no array of the program has; so is MPI_WEIGHTS_EMPTY.
bool unweighted(const int* weights) {
  return weights == MPI_UNWEIGHTED;
}

int degree_arg(int degree, const char* name) {
  if (degree < 0) fail_call(MPI_ERR_ARG, fmt::format("invalid {} {} (argument {}; not negative)", name, degree, name));
  return degree;
}

Ints ranks_arg(const Comm& c, const int* ranks, int n, const char* name) {
  array_arg(ranks, n, name);
  for (int i = 0; i < n; ++i) member_arg(c, ranks[i], name);
  return Ints(ranks, ranks + n);
}

/// Empty where there are no weights.
Ints weights_arg(const int* weights, int n, const char* name) {
  if (unweighted(weights) || n == 0) return {};
  if (weights == MPI_WEIGHTS_EMPTY) {
    fail_call(MPI_ERR_ARG, fmt::format("argument {} is MPI_WEIGHTS_EMPTY, but there are {} edges", name, n));
  }
  array_arg(weights, n, name);
  for (int i = 0; i < n; ++i) {
    if (weights[i] < 0) {
      fail_call(MPI_ERR_ARG, fmt::format("{}[{}] is {} (argument {}; not negative)", name, i, weights[i], name));
    }
  }
  return Ints(weights, weights + n);
}

/// The edges of one place, as its rank has described them.
struct Place {
  Neighbours neighbours;
  Ints source_weights, destination_weights;  // empty where there are none
};

/// What all ranks have described, by rank: each brings as many words as the one with the most edges needs.
std::vector<Place> gather_places(Comm& c, const Place& mine) {
  using Words = std::vector<std::uint64_t>;
  const Ints &in = mine.neighbours.sources, &out = mine.neighbours.destinations;
  const Words degrees = gather_all(whole_party(c), Words{in.size(), out.size()});
  std::size_t most = 0;
  for (std::size_t r = 0; r < degrees.size(); r += 2) most = std::max(most, degrees[r] + degrees[r + 1]);
  Words edges;
  const auto tell = [&](const Ints& peers, const Ints& weights) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto weight = static_cast<std::uint64_t>(weights.empty() ? 0 : weights[i]);
      edges.push_back(weight << 32 | static_cast<std::uint32_t>(peers[i]));
    }
  };
  tell(in, mine.source_weights), tell(out, mine.destination_weights);
  edges.resize(most);
  const Words all = gather_all(whole_party(c), edges);
  std::vector<Place> places(degrees.size() / 2);
  for (std::size_t r = 0; r < places.size(); ++r) {
    auto word = all.begin() + static_cast<std::ptrdiff_t>(r * most);
    const auto hear = [&](std::uint64_t n, Ints& peers, Ints& weights) {
      for (; n > 0; --n, ++word) {
        peers.push_back(static_cast<int>(static_cast<std::uint32_t>(*word)));
        weights.push_back(static_cast<int>(*word >> 32));
      }
    };
    hear(degrees[2 * r], places[r].neighbours.sources, places[r].source_weights);
    hear(degrees[2 * r + 1], places[r].neighbours.destinations, places[r].destination_weights);
  }
  return places;
}

/// World ranks in their new order, and in `mine` the edges of the place that this rank gets. Every edge is known to
/// both its ends, and counted by one.
std::vector<Rank> reordered(Comm& c, bool weighted, Place& mine) {
  const std::vector<int> hosts = hosts_of_first(c, c.size());
  if (!on_several_hosts(hosts)) return c.group->world.list();
  std::vector<Place> places = gather_places(c, mine);
  PlacementGraph graph(c.size());
  for (int r = 0; r < c.size(); ++r) {
    const Place& p = places[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; i < p.neighbours.destinations.size(); ++i) {
      graph.add(r, p.neighbours.destinations[i], weighted ? p.destination_weights[i] : 1);
    }
  }
  const std::vector<int> process = place_on_hosts(graph, hosts);
  mine = std::move(places[static_cast<std::size_t>(own_place(c, process))]);
  if (!weighted) mine.source_weights.clear(), mine.destination_weights.clear();
  return world_ranks(c, process);
}

MPI_Comm create(Comm& old, DistGraph graph, Neighbours neighbours, bool reorder) {
  note_collective(old);
  Comm* c = ft::make_together(old, [&](Comm& own) {
    if (!reorder) return create_comm(own, old.group->world);
    Place mine{std::move(neighbours), std::move(graph.source_weights), std::move(graph.destination_weights)};
    Ranks world = reordered(own, graph.weighted, mine);
    neighbours = std::move(mine.neighbours);
    graph.source_weights = std::move(mine.source_weights);
    graph.destination_weights = std::move(mine.destination_weights);
    return create_comm(own, std::move(world));
  });
  c->topology = std::make_shared<Topology>(Topology{std::move(graph), std::move(neighbours)});
  return c->handle;
}

/// One end of an edge, as a rank hears of it.
struct End {
  int out;   // 1: it leaves the rank that is told; 0: it arrives there
  int peer;  // the rank at the other end
  int weight;
};
constexpr int kEndInts = sizeof(End) / sizeof(int);

/// What each rank has to be told, one list for each.
using Ends = std::vector<std::vector<End>>;

/// The program's description of edges, checked: both ends of each.
Ends ends_arg(const Comm& c, int n, const int* sources, const int* degrees, const int* destinations,
              const int* weights) {
  degree_arg(n, "n");
  const Ints from = ranks_arg(c, sources, n, "sources");
  array_arg(degrees, n, "degrees");
  MPI_Count total = 0;
  for (int i = 0; i < n; ++i) total += degree_arg(degrees[i], "degrees");
  if (total > INT_MAX) fail_call(MPI_ERR_ARG, fmt::format("argument degrees makes {} edges, too many", total));
  const int edges = static_cast<int>(total);
  const Ints to = ranks_arg(c, destinations, edges, "destinations");
  const Ints weight = weights_arg(weights, edges, "weights");
  Ends ends(static_cast<std::size_t>(c.size()));
  std::size_t edge = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (int k = 0; k < degrees[i]; ++k, ++edge) {
      const int w = weight.empty() ? 0 : weight[edge];
      ends[static_cast<std::size_t>(from[i])].push_back({1, to[edge], w});
      ends[static_cast<std::size_t>(to[edge])].push_back({0, from[i], w});
    }
  }
  return ends;
}

[[noreturn]] void fail_exchange(int error_class) {
  fail_call(error_class, "the processes could not tell each other of the edges");
}

/// What all ranks have to tell this one, by their ranks: so both ends of several edges between two ranks see them in
/// the same order. Collective.
std::vector<End> told(Comm& c, const Ends& tell) {
  const Datatype& number = *find_datatype(MPI_COUNT);
  const Datatype& integer = *find_datatype(MPI_INT);
  const std::size_t p = tell.size();
  std::vector<MPI_Count> send_count(p), send_at(p), recv_count(p), recv_at(p);
  std::vector<End> send, recv;
  for (std::size_t r = 0; r < p; ++r) {
    send_at[r] = static_cast<MPI_Count>(send.size()) * kEndInts;
    send_count[r] = static_cast<MPI_Count>(tell[r].size()) * kEndInts;
    send.insert(send.end(), tell[r].begin(), tell[r].end());
  }
  using coll::Blocks;
  if (const int error = coll::alltoall(c, Blocks::uniform(send_count.data(), 1, number),
                                       Blocks::uniform(recv_count.data(), 1, number))) {
    fail_exchange(error);
  }
  MPI_Count total = 0;
  for (std::size_t r = 0; r < p; total += recv_count[r++]) recv_at[r] = total;
  recv.resize(static_cast<std::size_t>(total / kEndInts));
  using coll::Numbers;
  if (const int error =
          coll::alltoall(c, Blocks::spread(send.data(), Numbers(send_count.data()), Numbers(send_at.data()), integer),
                         Blocks::spread(recv.data(), Numbers(recv_count.data()), Numbers(recv_at.data()), integer))) {
    fail_exchange(error);
  }
  return recv;
}

/// Stores the first of the values, as many as there is room for. Unlike in the older topologies less room is no error.
void out_first(const Ints& values, int* to, int room, const char* name) {
  const std::size_t n = std::min(values.size(), static_cast<std::size_t>(room));
  if (n > 0) std::copy_n(values.begin(), n, out(to, name));
}
void out_weights(const DistGraph& g, const Ints& values, int* to, int room, const char* name) {
  if (g.weighted && !unweighted(to) && to != MPI_WEIGHTS_EMPTY) out_first(values, to, room, name);
}

}  // namespace

RMQ_MPI(int, Dist_graph_create_adjacent,
        (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[], int outdegree,
         const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph)) {
  return enter(comm_old, [&](Comm& c) {
    check_base(c, comm_dist_graph, "comm_dist_graph");
    optional_info_arg(info);
    degree_arg(indegree, "indegree"), degree_arg(outdegree, "outdegree");
    if (unweighted(sourceweights) != unweighted(destweights)) {
      fail_call(MPI_ERR_ARG, "only one of the arguments sourceweights, destweights is MPI_UNWEIGHTED");
    }
    Neighbours n{ranks_arg(c, sources, indegree, "sources"), ranks_arg(c, destinations, outdegree, "destinations")};
    DistGraph g{!unweighted(sourceweights), weights_arg(sourceweights, indegree, "sourceweights"),
                weights_arg(destweights, outdegree, "destweights")};
    *comm_dist_graph = create(c, std::move(g), std::move(n), reorder != 0);
  });
}

RMQ_MPI(int, Dist_graph_create,
        (MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
         const int weights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph)) {
  return enter(comm_old, [&](Comm& c) {
    check_base(c, comm_dist_graph, "comm_dist_graph");
    optional_info_arg(info);
    Neighbours neighbours;
    DistGraph g{!unweighted(weights), {}, {}};
    const Ends tell = ends_arg(c, n, sources, degrees, destinations, weights);
    const auto hear = [&](Comm& own) { return told(own, tell); };
    for (const End& e : ft::together<std::vector<End>>(c, hear, [](const auto&) {})) {
      (e.out ? neighbours.destinations : neighbours.sources).push_back(e.peer);
      (e.out ? g.destination_weights : g.source_weights).push_back(e.weight);
    }
    *comm_dist_graph = create(c, std::move(g), std::move(neighbours), reorder != 0);
  });
}

RMQ_MPI(int, Dist_graph_neighbors_count, (MPI_Comm comm, int* indegree, int* outdegree, int* weighted)) {
  return enter(comm, [&](Comm& c) {
    const DistGraph& g = shape_arg<DistGraph>(c);
    out(indegree, "indegree"), out(outdegree, "outdegree"), out(weighted, "weighted");
    *indegree = static_cast<int>(neighbours_arg(c).sources.size());
    *outdegree = static_cast<int>(neighbours_arg(c).destinations.size());
    *weighted = g.weighted;
  });
}

RMQ_MPI(int, Dist_graph_neighbors,
        (MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree, int destinations[],
         int destweights[])) {
  return enter(comm, [&](Comm& c) {
    const DistGraph& g = shape_arg<DistGraph>(c);
    const Neighbours& n = neighbours_arg(c);
    degree_arg(maxindegree, "maxindegree"), degree_arg(maxoutdegree, "maxoutdegree");
    out_first(n.sources, sources, maxindegree, "sources");
    out_first(n.destinations, destinations, maxoutdegree, "destinations");
    out_weights(g, g.source_weights, sourceweights, maxindegree, "sourceweights");
    out_weights(g, g.destination_weights, destweights, maxoutdegree, "destweights");
  });
}

}  // namespace rmq::mpi
