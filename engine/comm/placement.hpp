// SPDX-License-Identifier: BSD-3-Clause
// Which process takes which place of a topology, where its ranks may be reordered: so that neighbours share hosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rmq::mpi {

/// Places 0 … n - 1 of a topology, and how much goes between any two of them; a direction of an edge counts like the
/// other.
class PlacementGraph {
 public:
  explicit PlacementGraph(int places) : edges_(static_cast<std::size_t>(places)) {}
  /// No place at the other end (MPI_PROC_NULL), or the same one, is no edge.
  void add(int from, int to, std::int64_t weight = 1);

  struct Edge {
    int to;
    std::int64_t weight;
  };
  int size() const { return static_cast<int>(edges_.size()); }
  const std::vector<Edge>& edges(int place) const { return edges_[static_cast<std::size_t>(place)]; }
  /// What goes between places whose parts differ.
  std::int64_t cut(std::span<const int> part) const;

 private:
  std::vector<std::vector<Edge>> edges_;
};

/// The process, 0 … n - 1, that takes each place. `host_of` process; `more`: hosts of the places, as the caller has
/// thought of them, each host as often as there are processes on it. Deterministic. Of these, of the places as they
/// are, and of hosts that are grown (below) it takes what leaves the least between hosts, and the places as they are
/// where that is no more; a process whose place is on its host keeps it.
///
/// Each host in turn grows from one place by the one that is bound to it most: the greedy graph growing of G. Karypis
/// and V. Kumar (A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci. Comput. 20,
/// 1998), which T. Hatazaki has used for MPI's topologies (Rank reordering strategy for MPI topology creation
/// functions, 1998). Then places of two hosts are exchanged as long as that helps, as in B. Kernighan's and S. Lin's
/// heuristic (1970).
std::vector<int> place_on_hosts(const PlacementGraph& graph, std::span<const int> host_of,
                                const std::vector<std::vector<int>>& more = {});

/// Hosts of the places of a grid, whose last coordinate varies fastest, as blocks of equal shape, one for each host:
/// W. Gropp, Using node and socket information to implement MPI Cartesian topologies (Parallel Computing 85, 2019).
/// Empty where hosts have different numbers of processes, or no shape divides the grid.
std::vector<int> blocks_on_hosts(std::span<const int> dims, std::span<const int> host_of);

}  // namespace rmq::mpi
