// SPDX-License-Identifier: BSD-3-Clause
// The process sets that sessions know: mpi://WORLD, mpi://SELF, rmq://host/N for each host, and those that the user has
// named. Everything here needs the device held.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/object/runtime.hpp"

namespace rmq::mpi {

/// Names of the sets that this process is in. Throws MPI_ERR_OTHER when RMQ_PSETS says nothing sensible.
std::vector<std::string> own_process_sets();

/// World ranks of the members, this process or not; nothing: there is no set of this name.
std::optional<Ranks> find_process_set(std::string_view name);
/// The same. Throws MPI_ERR_ARG when there is none.
Ranks process_set_arg(const char* name, const char* argument = "pset_name");

}  // namespace rmq::mpi
