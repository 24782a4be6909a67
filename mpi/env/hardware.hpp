// SPDX-License-Identifier: BSD-3-Clause
// The hardware that this process runs on, as hwloc sees it. The library is opened when it is first asked for; where it
// is not installed, nothing is known. Everything here needs the device held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rmq::mpi {

/// A kind of resource, by its name ("Package", "NUMANode", "L3Cache", "Core", "PU" …).
struct Resource {
  std::string name;
  std::optional<std::uint32_t> instance;  // the one that this process is bound to; none: to several, or to none
};

/// The kinds that this machine has, the largest first.
std::vector<Resource> resources();

/// The kind that a value of mpi_hw_resource_type names: "hwloc://NAME", or NAME alone, in upper or lower case.
/// Nothing when there is no such kind here.
std::optional<Resource> find_resource(std::string_view value);

/// What a value of mpi_hw_resource_type begins with where it names a kind of hwloc's.
inline constexpr std::string_view kHwlocScheme = "hwloc://";

}  // namespace rmq::mpi
