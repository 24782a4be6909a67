// SPDX-License-Identifier: BSD-3-Clause
// Chapter 8.5.1, 8.5.5 to 8.5.8: Cartesian topologies.
#include <fmt/format.h>

#include <cstdint>

#include "engine/comm/together.hpp"
#include "engine/comm/topology.hpp"
#include "engine/object/slot.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// Checked dimensions. The product fits an int.
Cart grid_arg(const Comm& c, int ndims, const int* dims, const int* periods) {
  if (ndims < 0) fail_call(MPI_ERR_DIMS, fmt::format("invalid ndims {} (argument ndims; not negative)", ndims));
  array_arg(dims, ndims, "dims"), array_arg(periods, ndims, "periods");
  Cart grid;
  std::int64_t processes = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) fail_call(MPI_ERR_DIMS, fmt::format("dims[{}] is {} (argument dims; at least 1)", i, dims[i]));
    processes *= dims[i];
    if (processes > c.size()) {
      fail_call(MPI_ERR_DIMS, fmt::format("the grid needs more processes than the {} of the communicator: {} by "
                                          "dimension {} (argument dims)",
                                          c.size(), processes, i));
    }
    grid.dims.push_back(dims[i]);
    grid.periods.push_back(periods[i] != 0);
  }
  return grid;
}

int processes_of(const Cart& grid) {
  int n = 1;
  for (const int d : grid.dims) n *= d;
  return n;
}

std::vector<int> coords_of(const Cart& grid, int rank) {
  std::vector<int> coords(grid.dims.size());
  for (int i = grid.ndims(); i-- > 0; rank /= grid.dims[slot(i)]) coords[slot(i)] = rank % grid.dims[slot(i)];
  return coords;
}

int rank_of(const Cart& grid, const std::vector<int>& coords) {
  int rank = 0;
  for (int i = 0; i < grid.ndims(); ++i) rank = rank * grid.dims[slot(i)] + coords[slot(i)];
  return rank;
}

/// A coordinate brought into a ring.
int wrapped(std::int64_t coordinate, int dim) {
  const std::int64_t r = coordinate % dim;
  return static_cast<int>(r < 0 ? r + dim : r);
}

/// The rank that is `disp` further in one dimension; MPI_PROC_NULL beyond the edge.
int moved_rank(const Cart& grid, std::vector<int> coords, int direction, std::int64_t disp) {
  const int dim = grid.dims[slot(direction)];
  const std::int64_t to = coords[slot(direction)] + disp;
  if (!grid.periods[slot(direction)] && (to < 0 || to >= dim)) return MPI_PROC_NULL;
  coords[slot(direction)] = wrapped(to, dim);
  return rank_of(grid, coords);
}

/// In each dimension the one below, then the one above.
Neighbours neighbours_of(const Cart& grid, int rank) {
  Neighbours n;
  n.paired = true;
  const std::vector<int> coords = coords_of(grid, rank);
  for (int i = 0; i < grid.ndims(); ++i) {
    n.sources.push_back(moved_rank(grid, coords, i, -1));
    n.sources.push_back(moved_rank(grid, coords, i, 1));
  }
  n.destinations = n.sources;
  return n;
}

/// Which of the first ranks takes each place of the grid, where they may be reordered.
std::vector<int> places_in(const Comm& c, const Cart& grid) {
  const int n = processes_of(grid);
  const std::vector<int> hosts = hosts_of_first(c, n);
  if (!on_several_hosts(hosts)) return in_order(n);
  PlacementGraph graph(n);
  for (int r = 0; r < n; ++r) {
    const std::vector<int> coords = coords_of(grid, r);
    for (int i = 0; i < grid.ndims(); ++i) graph.add(r, moved_rank(grid, coords, i, 1));
  }
  return place_on_hosts(graph, hosts, {blocks_on_hosts(grid.dims, hosts)});
}

MPI_Comm create(Comm& old, std::vector<Rank> world, Cart grid) {
  note_collective(old);
  Comm* c = ft::make_together(old, [&](Comm& own) { return create_comm(own, std::move(world)); });
  if (!c) return MPI_COMM_NULL;
  Neighbours neighbours = neighbours_of(grid, c->rank);
  c->topology = std::make_shared<Topology>(Topology{std::move(grid), std::move(neighbours)});
  return c->handle;
}

/// The grid of those who share my coordinates in the dimensions that are not kept.
MPI_Comm create_sub(Comm& c, const Cart& grid, const int* keep) {
  Cart sub;
  for (int i = 0; i < grid.ndims(); ++i) {
    if (!keep[i]) continue;
    sub.dims.push_back(grid.dims[slot(i)]);
    sub.periods.push_back(grid.periods[slot(i)]);
  }
  std::vector<int> coords = coords_of(grid, c.rank);
  std::vector<Rank> world;
  for (int r = 0; r < processes_of(sub); ++r) {
    const std::vector<int> inside = coords_of(sub, r);
    auto next = inside.begin();
    for (int i = 0; i < grid.ndims(); ++i) {
      if (keep[i]) coords[slot(i)] = *next++;
    }
    world.push_back(c.world_of(rank_of(grid, coords)));
  }
  return create(c, std::move(world), std::move(sub));
}

/// Coordinates of the program, those of rings brought into the ring.
std::vector<int> coords_arg(const Cart& grid, const int* coords) {
  array_arg(coords, grid.ndims(), "coords");
  std::vector<int> inside;
  for (int i = 0; i < grid.ndims(); ++i) {
    const int dim = grid.dims[slot(i)];
    if (!grid.periods[slot(i)] && (coords[i] < 0 || coords[i] >= dim)) {
      fail_call(MPI_ERR_ARG, fmt::format("coords[{}] is {} (argument coords; allowed 0..{})", i, coords[i], dim - 1));
    }
    inside.push_back(wrapped(coords[i], dim));
  }
  return inside;
}

}  // namespace

RMQ_MPI(int, Cart_create,
        (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm* comm_cart)) {
  return enter(comm_old, [&](Comm& c) {
    check_base(c, comm_cart, "comm_cart");
    Cart grid = grid_arg(c, ndims, dims, periods);
    std::vector<Rank> world = world_ranks(c, reorder ? places_in(c, grid) : in_order(processes_of(grid)));
    *comm_cart = create(c, std::move(world), std::move(grid));
  });
}

RMQ_MPI(int, Cart_map, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank)) {
  return enter(comm, [&](Comm& c) {
    out(newrank, "newrank");
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    *newrank = own_place(c, places_in(c, grid_arg(c, ndims, dims, periods)));
  });
}

RMQ_MPI(int, Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    const Cart& grid = shape_arg<Cart>(c);
    *newcomm = create_sub(c, grid, array_arg(remain_dims, grid.ndims(), "remain_dims"));
  });
}

RMQ_MPI(int, Cartdim_get, (MPI_Comm comm, int* ndims)) {
  return enter(comm, [&](Comm& c) { *out(ndims, "ndims") = shape_arg<Cart>(c).ndims(); });
}

RMQ_MPI(int, Cart_get, (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])) {
  return enter(comm, [&](Comm& c) {
    const Cart& grid = shape_arg<Cart>(c);
    out_values(grid.dims, dims, maxdims, "dims", "maxdims");
    out_values(grid.periods, periods, maxdims, "periods", "maxdims");
    out_values(coords_of(grid, c.rank), coords, maxdims, "coords", "maxdims");
  });
}

RMQ_MPI(int, Cart_rank, (MPI_Comm comm, const int coords[], int* rank)) {
  return enter(comm, [&](Comm& c) {
    const Cart& grid = shape_arg<Cart>(c);
    *out(rank, "rank") = rank_of(grid, coords_arg(grid, coords));
  });
}

RMQ_MPI(int, Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[])) {
  return enter(comm, [&](Comm& c) {
    const Cart& grid = shape_arg<Cart>(c);
    out_values(coords_of(grid, member_arg(c, rank)), coords, maxdims, "coords", "maxdims");
  });
}

RMQ_MPI(int, Cart_shift, (MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest)) {
  return enter(comm, [&](Comm& c) {
    const Cart& grid = shape_arg<Cart>(c);
    if (direction < 0 || direction >= grid.ndims()) {
      fail_call(MPI_ERR_ARG, fmt::format("invalid direction {} (argument direction; the grid has {} dimensions)",
                                         direction, grid.ndims()));
    }
    out(rank_source, "rank_source"), out(rank_dest, "rank_dest");
    const std::vector<int> coords = coords_of(grid, c.rank);
    *rank_source = moved_rank(grid, coords, direction, -std::int64_t{disp});
    *rank_dest = moved_rank(grid, coords, direction, disp);
  });
}

}  // namespace rmq::mpi
