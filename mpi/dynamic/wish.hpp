// What the launcher is asked for, and what it answers: JSON, both ways. Needs the device held.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rmq::mpi {

/// Asks and waits for the answer; polls the device meanwhile. Throws MPI_ERR_OTHER when there is no launcher to ask.
nlohmann::json ask_launcher(const std::string& what, nlohmann::json wish);

}  // namespace rmq::mpi
