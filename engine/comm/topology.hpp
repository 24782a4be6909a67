// SPDX-License-Identifier: BSD-3-Clause
// Process topologies: what a communicator knows of the places of its ranks. Immutable once made, and shared by
// duplicates, whose ranks are the same. All needs the device held.
#pragma once

#include <algorithm>
#include <numeric>
#include <variant>
#include <vector>

#include "engine/call/call.hpp"
#include "engine/comm/placement.hpp"

namespace rmq::mpi {

/// With whom neighbourhood collectives talk, in the order of their blocks: ranks, or MPI_PROC_NULL, whose blocks are
/// left alone.
struct Neighbours {
  std::vector<int> sources, destinations;
  /// A grid's: blocks come in pairs, down and up, and what is sent down arrives from above. Else several messages
  /// between the same two ranks keep their order.
  bool paired = false;
};

/// A grid: the last coordinate varies fastest with the rank.
struct Cart {
  static constexpr int kKind = MPI_CART;
  static constexpr const char* kName = "Cartesian";
  std::vector<int> dims;     // processes in each dimension, all positive
  std::vector<int> periods;  // whether each is a ring: 0 or 1
  int ndims() const { return static_cast<int>(dims.size()); }
};

/// Edges that every rank knows: those of node i are edges[index[i - 1]] … edges[index[i] - 1].
struct Graph {
  static constexpr int kKind = MPI_GRAPH;
  static constexpr const char* kName = "graph";
  std::vector<int> index, edges;
};

/// Edges of which each rank knows its own: the neighbours. Weights are empty unless `weighted`.
struct DistGraph {
  static constexpr int kKind = MPI_DIST_GRAPH;
  static constexpr const char* kName = "distributed graph";
  bool weighted;
  std::vector<int> source_weights, destination_weights;
};

struct Topology {
  std::variant<Cart, Graph, DistGraph> shape;
  Neighbours neighbours;  // of this rank
};

namespace detail {
[[noreturn]] void no_topology(const char* wanted);
[[noreturn]] void bad_room(int room, std::size_t needed, const char* name);
[[noreturn]] void bad_topology_rank(const Comm& c, int rank, const char* name = "rank");
}  // namespace detail

/// The topology of this shape. Throws MPI_ERR_TOPOLOGY when the communicator has another one or none.
template <class Shape>
const Shape& shape_arg(const Comm& c) {
  const Shape* shape = c.topology ? std::get_if<Shape>(&c.topology->shape) : nullptr;
  if (!shape) detail::no_topology(Shape::kName);
  return *shape;
}

/// Of any topology.
inline const Neighbours& neighbours_arg(const Comm& c) {
  if (!c.topology) [[unlikely]]
    detail::no_topology(nullptr);
  return c.topology->neighbours;
}

/// A communicator to be given a topology: an intra-communicator. Makes `*made` null, in case of an error.
inline void check_base(const Comm& c, MPI_Comm* made, const char* made_name) {
  *out(made, made_name) = MPI_COMM_NULL;
  if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm_old is an inter-communicator");
}

/// A rank of the communicator itself: no MPI_PROC_NULL.
inline int member_arg(const Comm& c, int rank, const char* name = "rank") {
  if (rank < 0 || rank >= c.size()) detail::bad_topology_rank(c, rank, name);
  return rank;
}

/// An array of `n` values that is read; null is fine when there are none.
template <class T>
const T* array_arg(const T* values, int n, const char* name) {
  if (n > 0 && !values) detail::null_argument(MPI_ERR_ARG, name);
  return values;
}

/// Stores values in an array with room for `room` of them. Throws MPI_ERR_ARG when there are more.
inline void out_values(const std::vector<int>& values, int* to, int room, const char* name, const char* room_name) {
  if (room < 0 || static_cast<std::size_t>(room) < values.size()) detail::bad_room(room, values.size(), room_name);
  if (!values.empty()) std::copy(values.begin(), values.end(), out(to, name));
}

/// Hosts of the first `n` ranks of a communicator.
std::vector<int> hosts_of_first(const Comm& c, int n);
/// Whether they are of several: only then reordering can help.
inline bool on_several_hosts(const std::vector<int>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [&](int h) { return h != hosts[0]; });
}
/// World ranks of the new communicator, given which of the first ranks of the old one takes each place.
inline std::vector<Rank> world_ranks(const Comm& c, const std::vector<int>& process_of_place) {
  std::vector<Rank> world;
  world.reserve(process_of_place.size());
  for (const int p : process_of_place) world.push_back(c.group->world[p]);
  return world;
}
/// The place of this rank; MPI_UNDEFINED when it has none.
inline int own_place(const Comm& c, const std::vector<int>& process_of_place) {
  const auto found = std::find(process_of_place.begin(), process_of_place.end(), c.rank);
  return found != process_of_place.end() ? static_cast<int>(found - process_of_place.begin()) : MPI_UNDEFINED;
}
/// The first `n` ranks as they are.
inline std::vector<int> in_order(int n) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace rmq::mpi
