// What the launcher is asked for, and what it answers: JSON, both ways. Needs the device held.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rmq::mpi {

/// Asks and waits for the answer; polls the device meanwhile. Throws MPI_ERR_OTHER when there is no launcher to ask.
nlohmann::json ask_launcher(const std::string& what, nlohmann::json wish);

/// The same in two steps: the name of the answer, and the answer once it has come.
std::string ask(const std::string& what, nlohmann::json wish);
std::optional<nlohmann::json> answer_to(const std::string& key);

}  // namespace rmq::mpi
