// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/topology.hpp"

#include <fmt/format.h>

#include <map>

namespace rmq::mpi {

std::vector<int> hosts_of_first(const Comm& c, int n) {
  const bool foreign = c.device->any_foreign(c.group->world);
  std::map<std::uint64_t, int> numbers;
  std::vector<int> hosts;
  for (int r = 0; r < n; ++r) {
    const std::uint64_t host = c.device->host_of(c.group->world[r], foreign);
    hosts.push_back(numbers.emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return hosts;
}

namespace detail {

void no_topology(const char* wanted) {
  fail_call(MPI_ERR_TOPOLOGY, wanted ? fmt::format("argument comm has no {} topology", wanted)
                                     : std::string("argument comm has no topology"));
}

void bad_room(int room, std::size_t needed, const char* name) {
  fail_call(MPI_ERR_ARG,
            fmt::format("{} is {}, but there are {} values to store (argument {})", name, room, needed, name));
}

void bad_topology_rank(const Comm& c, int rank, const char* name) {
  fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument {}; allowed 0..{})", rank, name, c.size() - 1));
}

}  // namespace detail

}  // namespace rmq::mpi
