// SPDX-License-Identifier: BSD-3-Clause
// What the launcher is asked for, and what it answers: JSON, both ways. Needs the device held.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rmq::mpi {

/// Asks and waits for the answer; polls the device meanwhile. Throws MPI_ERR_OTHER when there is no launcher to ask.
/// `failed`: looked at meanwhile; may throw.
nlohmann::json ask_launcher(const std::string& what, nlohmann::json wish, const std::function<void()>& failed = {});

/// The same in two steps: the name of the answer, and the answer once it has come.
std::string ask(const std::string& what, nlohmann::json wish);
std::optional<nlohmann::json> answer_to(const std::string& key);

/// A question whose answer nobody awaits: it may come while this lives.
class OpenQuestion {
 public:
  OpenQuestion(const std::string& what, nlohmann::json wish) : key_(ask(what, std::move(wish))) {}
  ~OpenQuestion();
  OpenQuestion(const OpenQuestion&) = delete;
  OpenQuestion& operator=(const OpenQuestion&) = delete;
  /// Once.
  std::optional<nlohmann::json> answer();

 private:
  const std::string key_;
  bool over_ = false;
};

}  // namespace rmq::mpi
