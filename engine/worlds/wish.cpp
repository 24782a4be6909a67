// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worlds/wish.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/call/call.hpp"
#include "engine/comm/by_line.hpp"

namespace rmq::mpi {

nlohmann::json ask_launcher(const std::string& what, nlohmann::json wish, const std::function<void()>& failed) {
  OpenQuestion question(what, std::move(wish));
  std::optional<nlohmann::json> answer;
  await_fd(-1, false, [&] {
    answer = question.answer();
    if (!answer && failed) failed();
    return answer.has_value();
  });
  return *std::move(answer);
}

OpenQuestion::~OpenQuestion() {
  if (!over_) runtime().bootstrap->abandon(key_);
}

std::optional<nlohmann::json> OpenQuestion::answer() {
  if (over_) return std::nullopt;
  auto answer = answer_to(key_);
  over_ = answer.has_value();
  return answer;
}

std::string ask(const std::string& what, nlohmann::json wish) {
  static int asked = 0;  // touched with the device held
  Bootstrap& launcher = *runtime().bootstrap;
  std::string key = fmt::format("answer.{}.{}", runtime().device->rank(), ++asked);
  wish["answer"] = key;
  const int before = launcher.launcher_fd();
  // Names that are no UTF-8 are spoilt, and refused or not found.
  const auto sent = launcher.wish(what, wish.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!sent) fail_call(MPI_ERR_OTHER, sent.error().what);
  // A launcher that has just been started for this: from now on it wakes a call that sleeps.
  if (const int now = launcher.launcher_fd(); now != before) static_cast<void>(runtime().device->watch_fd(now));
  return key;
}

std::optional<nlohmann::json> answer_to(const std::string& key) {
  const auto text = runtime().bootstrap->hear(key);
  if (!text) fail_call(MPI_ERR_OTHER, text.error().what);
  if (!*text) return std::nullopt;
  auto answer = nlohmann::json::parse(**text, nullptr, false);
  if (!answer.is_object()) fail_call(MPI_ERR_INTERN, "the launcher's answer makes no sense");
  return answer;
}

}  // namespace rmq::mpi
