// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team.hpp"

namespace rmq::testing {

Team::Team(Fibers& fibers, std::uint32_t context, mpi::coll::Terms& terms, const std::vector<int>& left,
           const std::vector<int>& right)
    : left_size_(static_cast<int>(left.size())),
      right_size_(static_cast<int>(right.size())),
      member_of_(static_cast<std::size_t>(fibers.size()), -1) {
  const auto group = [&](const std::vector<int>& world, int rank) -> mpi::Group& {
    mpi::Group& g = groups_.emplace_back();
    g.world = Ranks(std::vector<Rank>(world.begin(), world.end()));
    g.rank = rank;
    return g;
  };
  const auto side = [&](const std::vector<int>& own, const std::vector<int>& other) {
    for (int rank = 0; rank < static_cast<int>(own.size()); ++rank) {
      const int world = own[static_cast<std::size_t>(rank)];
      member_of_[static_cast<std::size_t>(world)] = static_cast<int>(comms_.size());
      mpi::Comm& c = comms_.emplace_back();
      c.device = &fibers.device(world);
      c.terms = &terms;
      c.context = c.recv_context = context;
      c.group = &group(own, rank);
      c.rank = rank;
      if (other.empty()) continue;
      c.remote = &group(other, MPI_UNDEFINED);
      mpi::Comm& local = locals_.emplace_back();
      local.device = c.device;
      local.terms = &terms;
      local.context = local.recv_context = context + 2;
      local.group = c.group;
      local.rank = rank;
      c.local = &local;
    }
  };
  side(left, right);
  side(right, left);
}

}  // namespace rmq::testing
