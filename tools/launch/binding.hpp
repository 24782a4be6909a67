// SPDX-License-Identifier: BSD-3-Clause
// Which CPUs the ranks of a host are bound to. The machine is looked at with hwloc, whose library is opened only when a
// job wants to be bound, and only CPUs count that this process may use (cgroups, taskset).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rmq::launch {

/// Parts of a machine, finest first.
enum class Part { hwthread, core, cache, numa, package };

/// "hwthread", "core", "l3cache", "numa", "socket", as MPICH and Open MPI spell them too.
std::optional<Part> part_of(std::string_view name);
/// For messages.
std::string_view name_of(Part part);

struct Binding {
  std::optional<Part> to;      // each rank to one of these, in turn; none: unbound
  int each = 1;                // so many of them to each rank
  std::optional<Part> spread;  // neighbours to different ones of these; none: one after the other
  bool report = false;         // say where each rank is
};

using CpuSet = std::vector<int>;  // numbers of CPUs, ascending

/// A set for each rank of a host, the first for the first, from the beginning again where there are more ranks.
/// `allowed`: whether a CPU may be used. Errc::system: no hwloc, or nothing of that kind is allowed here.
Result<std::vector<CpuSet>> find_places(const Binding& binding, const std::function<bool(int cpu)>& allowed);

/// Whether this process may use a CPU.
std::function<bool(int cpu)> allowed_cpus();

/// "0-2,5".
std::string format_cpus(const CpuSet& cpus);

}  // namespace rmq::launch
