// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/placement.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "engine/object/slot.hpp"

namespace rmq::mpi {
namespace {

using Ints = std::vector<int>;

/// How many processes each host has, by host.
std::map<int, int> rooms_of(std::span<const int> host_of) {
  std::map<int, int> rooms;
  for (const int h : host_of) ++rooms[h];
  return rooms;
}

/// Greedy growing, host after host in the order of their first processes.
class Growth {
 public:
  Growth(const PlacementGraph& graph, std::span<const int> host_of)
      : graph_(graph), rooms_(rooms_of(host_of)), host_(slot(graph.size()), kNone), bound_(slot(graph.size()), 0) {
    for (const int h : host_of) {
      if (const int room = std::exchange(rooms_[h], 0); room > 0) grow(h, room);
    }
  }
  Ints take() { return std::move(host_); }

 private:
  static constexpr int kNone = -1;
  struct Candidate {
    std::int64_t bound;
    int place;
    bool operator<(const Candidate& other) const {  // the lower place first where both are bound alike
      return bound != other.bound ? bound < other.bound : place > other.place;
    }
  };

  void grow(int host, int room) {
    std::fill(bound_.begin(), bound_.end(), 0);
    std::priority_queue<Candidate> edge;
    for (; room > 0; --room) {
      const int place = next(edge);
      host_[slot(place)] = host;
      for (const auto& e : graph_.edges(place)) {
        if (host_[slot(e.to)] == kNone) edge.push({bound_[slot(e.to)] += e.weight, e.to});
      }
    }
  }
  int next(std::priority_queue<Candidate>& edge) {
    for (; !edge.empty(); edge.pop()) {
      const auto [bound, place] = edge.top();
      if (host_[slot(place)] == kNone && bound == bound_[slot(place)]) return place;
    }
    return loneliest();
  }
  /// The free place with the least to others that are free: a corner of what is left.
  int loneliest() const {
    int best = kNone;
    std::int64_t least = 0;
    for (int p = 0; p < graph_.size(); ++p) {
      if (host_[slot(p)] != kNone) continue;
      std::int64_t to_free = 0;
      for (const auto& e : graph_.edges(p)) to_free += host_[slot(e.to)] == kNone ? e.weight : 0;
      if (best == kNone || to_free < least) best = p, least = to_free;
    }
    return best;
  }

  const PlacementGraph& graph_;
  std::map<int, int> rooms_;
  Ints host_;                        // of each place
  std::vector<std::int64_t> bound_;  // what goes between a free place and the host that grows
};

/// Exchanges places of different hosts as long as less goes between hosts.
class Exchange {
 public:
  Exchange(const PlacementGraph& graph, Ints& host) : graph_(graph), host_(host) {
    bool better = true;
    while (better && budget_ > 0) {
      better = false;
      const Ints border = border_places();
      for (const int p : border) better = improve(p, border) || better;
    }
  }

 private:
  Ints border_places() const {
    Ints border;
    for (int p = 0; p < graph_.size(); ++p) {
      const auto& edges = graph_.edges(p);
      if (std::any_of(edges.begin(), edges.end(), [&](const auto& e) { return host_[slot(e.to)] != host_[slot(p)]; }))
        border.push_back(p);
    }
    return border;
  }
  /// What goes to another host less if a place moves there.
  std::int64_t gain(int place, int to) {
    std::int64_t g = 0;
    for (const auto& e : graph_.edges(place)) {
      if (host_[slot(e.to)] == to) g += e.weight;
      if (host_[slot(e.to)] == host_[slot(place)]) g -= e.weight;
    }
    budget_ -= static_cast<std::int64_t>(graph_.edges(place).size());
    return g;
  }
  std::int64_t between(int p, int q) const {
    std::int64_t w = 0;
    for (const auto& e : graph_.edges(p)) w += e.to == q ? e.weight : 0;
    return w;
  }
  bool improve(int p, const Ints& border) {
    std::int64_t most = 0;
    int with = -1;
    for (const int q : border) {
      if (budget_ <= 0) break;
      if (host_[slot(q)] == host_[slot(p)]) continue;
      const std::int64_t g = gain(p, host_[slot(q)]) + gain(q, host_[slot(p)]) - 2 * between(p, q);
      if (g > most) most = g, with = q;
    }
    if (with >= 0) std::swap(host_[slot(p)], host_[slot(with)]);
    return with >= 0;
  }

  const PlacementGraph& graph_;
  Ints& host_;
  std::int64_t budget_ = 50'000'000;  // edges to look at: some tenths of a second
};

/// Processes for places whose hosts are known: whoever is on its place's host stays, the others come in order.
Ints processes_for(std::span<const int> host_of_place, std::span<const int> host_of) {
  Ints process(host_of_place.size(), -1);
  std::map<int, std::queue<int>> free;
  for (int i = 0; i < static_cast<int>(process.size()); ++i) {
    if (host_of_place[slot(i)] == host_of[slot(i)]) {
      process[slot(i)] = i;
    } else {
      free[host_of[slot(i)]].push(i);
    }
  }
  for (std::size_t place = 0; place < process.size(); ++place) {
    if (process[place] >= 0) continue;
    auto& queue = free[host_of_place[place]];
    process[place] = queue.front();
    queue.pop();
  }
  return process;
}

/// All shapes of `room` places that divide the grid, and the one with the least surface.
class Shapes {
 public:
  Shapes(std::span<const int> dims, int room) : dims_(dims), shape_(dims.size(), 1) { choose(0, room); }
  const Ints& best() const { return best_; }  // empty: there is none

 private:
  void choose(std::size_t i, int left) {
    if (i == dims_.size()) {
      if (left == 1) judge();
      return;
    }
    for (int q = 1; q <= std::min(left, dims_[i]); ++q) {
      if (left % q != 0 || dims_[i] % q != 0) continue;
      shape_[i] = q;
      choose(i + 1, left / q);
    }
    shape_[i] = 1;
  }
  /// In each dimension that more than one block fills, a block has a side for each of its columns.
  void judge() {
    double surface = 0;
    const double volume = std::accumulate(shape_.begin(), shape_.end(), 1.0, std::multiplies<>());
    for (std::size_t i = 0; i < dims_.size(); ++i) surface += shape_[i] < dims_[i] ? volume / shape_[i] : 0;
    if (best_.empty() || surface < least_) best_ = shape_, least_ = surface;
  }

  std::span<const int> dims_;
  Ints shape_, best_;
  double least_ = 0;
};

}  // namespace

void PlacementGraph::add(int from, int to, std::int64_t weight) {
  if (to < 0 || from == to) return;
  edges_[slot(from)].push_back({to, weight});
  edges_[slot(to)].push_back({from, weight});
}

std::int64_t PlacementGraph::cut(std::span<const int> part) const {
  std::int64_t cut = 0;
  for (int p = 0; p < size(); ++p) {
    for (const Edge& e : edges(p)) cut += part[slot(p)] != part[slot(e.to)] ? e.weight : 0;
  }
  return cut / 2;  // each edge is at both ends
}

std::vector<int> place_on_hosts(const PlacementGraph& graph, std::span<const int> host_of,
                                const std::vector<std::vector<int>>& more) {
  Ints best(host_of.begin(), host_of.end());
  std::int64_t least = graph.cut(best);
  const auto consider = [&](Ints hosts) {
    Exchange(graph, hosts);
    if (const std::int64_t cut = graph.cut(hosts); cut < least) best = std::move(hosts), least = cut;
  };
  if (least > 0) {
    for (const Ints& hosts : more) {
      if (!hosts.empty()) consider(hosts);
    }
    consider(Growth(graph, host_of).take());
  }
  return processes_for(best, host_of);
}

std::vector<int> blocks_on_hosts(std::span<const int> dims, std::span<const int> host_of) {
  const auto rooms = rooms_of(host_of);
  const int room = rooms.begin()->second;
  if (std::any_of(rooms.begin(), rooms.end(), [&](const auto& r) { return r.second != room; })) return {};
  const Ints shape = Shapes(dims, room).best();
  if (shape.empty() && !dims.empty()) return {};
  Ints order;  // hosts, by their first processes
  for (const int h : host_of) {
    if (std::find(order.begin(), order.end(), h) == order.end()) order.push_back(h);
  }
  Ints hosts(host_of.size());
  for (std::size_t place = 0; place < hosts.size(); ++place) {
    std::size_t rest = place, block = 0, stride = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
      const std::size_t coordinate = rest % slot(dims[i]);
      rest /= slot(dims[i]);
      block += coordinate / slot(shape[i]) * stride;
      stride *= slot(dims[i] / shape[i]);
    }
    hosts[place] = order[block];
  }
  return hosts;
}

}  // namespace rmq::mpi
