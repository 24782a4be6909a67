// SPDX-License-Identifier: BSD-3-Clause
// MPI_INFO_ENV: how the program was started (MPI-4.0, section 11.4.3).
#pragma once

#include <string>
#include <vector>

#include "engine/object/objects.hpp"

namespace rmq::mpi {

using InfoEntries = decltype(Info::entries);

/// The keys that MPI_INFO_ENV has, for this command line. A key whose value is not known here is left out.
InfoEntries describe_environment(const std::vector<std::string>& arguments);
/// The object behind MPI_INFO_ENV, made when it is first asked for.
Info& environment();

}  // namespace rmq::mpi
