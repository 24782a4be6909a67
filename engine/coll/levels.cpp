// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/levels.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "adi/device.hpp"

namespace rmq::mpi::coll {
namespace {

/// Ranks [first, end) of the communicator, all on one host.
struct Stretch {
  int first, end;
  std::uint64_t host;
};

std::vector<Stretch> stretches_of(const adi::Device& device, const Ranks& world) {
  std::vector<Stretch> all;
  const Hosts& hosts = device.job().host_of_rank;
  // Of the whole job, which may have a million ranks, hosts are known by their runs.
  if (hosts.period() == hosts.size() && world == Ranks::rule(0, hosts.size())) {
    const auto runs = hosts.runs();
    for (std::size_t i = 0; i < runs.size(); ++i)
      all.push_back({runs[i].first, i + 1 < runs.size() ? runs[i + 1].first : hosts.size(),
                     static_cast<std::uint64_t>(runs[i].host)});
    return all;
  }
  const bool foreign = device.any_foreign(world);
  for (int i = 0; i < world.size(); ++i) {
    const std::uint64_t host = device.host_of(world[i], foreign);
    if (!all.empty() && all.back().host == host)
      ++all.back().end;
    else
      all.push_back({i, i + 1, host});
  }
  return all;
}

Levels make_levels(const Comm& comm) {
  const Ranks& world = comm.group->world;
  const std::vector<Stretch> all = stretches_of(*comm.device, world);
  const std::uint64_t own = comm.device->host_of(world[comm.rank], comm.device->any_foreign(world));
  Levels l;
  l.apart = true;
  std::unordered_map<std::uint64_t, std::size_t> place_of;  // by host
  std::vector<Rank> firsts, mine;
  std::vector<int> count;
  for (const Stretch& s : all) {
    const auto [at, fresh] = place_of.try_emplace(s.host, firsts.size());
    if (fresh) {
      firsts.push_back(s.first);
      count.push_back(0);
    } else {
      l.apart = false;
    }
    count[at->second] += s.end - s.first;
    if (s.host != own) continue;
    l.host = static_cast<int>(at->second);
    for (int r = s.first; r < s.end; ++r) mine.push_back(r);
  }
  l.mine = std::move(mine);
  l.me = l.mine.place_of(comm.rank);
  l.firsts = std::move(firsts);
  if (std::ranges::count(count, count[0]) == static_cast<std::ptrdiff_t>(count.size())) l.each = count[0];
  l.two = count.size() > 1 && *std::ranges::max_element(count) > 1;
  l.aligned = l.apart && l.each > 0 && std::has_single_bit(static_cast<unsigned>(l.each));
  return l;
}

}  // namespace

int host_of(const Comm& comm, int rank) {
  const Levels& l = levels_of(comm);
  if (l.mine.place_of(rank) >= 0) return l.host;
  const bool foreign = comm.device->any_foreign(comm.group->world);
  const std::uint64_t wanted = comm.device->host_of(comm.world_of(rank), foreign);
  int host = 0;
  while (comm.device->host_of(comm.world_of(l.firsts[host]), foreign) != wanted) ++host;
  return host;
}

const Levels& levels_of(const Comm& comm) {
  if (!comm.levels) comm.levels = std::make_shared<const Levels>(make_levels(comm));
  return *comm.levels;
}

}  // namespace rmq::mpi::coll
