#include "mpi/dynamic/wish.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mpi/dynamic/introduce.hpp"
#include "mpi/internal/call.hpp"

namespace rmq::mpi {

nlohmann::json ask_launcher(const std::string& what, nlohmann::json wish) {
  static int asked = 0;  // touched with the device held
  Bootstrap& launcher = *runtime().bootstrap;
  const std::string key = fmt::format("answer.{}.{}", runtime().device->rank(), ++asked);
  wish["answer"] = key;
  const auto failed = [&](const Error& e) { fail_call(MPI_ERR_OTHER, e.what); };
  const bool alone = launcher.watch_fd() < 0;
  if (auto sent = launcher.wish(what, wish.dump()); !sent) failed(sent.error());
  // A launcher that has just been started for this: from now on it wakes a call that sleeps.
  if (alone && launcher.watch_fd() >= 0) static_cast<void>(runtime().device->MPID_Watch_fd(launcher.watch_fd()));
  std::optional<std::string> text;
  await_fd(-1, false, [&] {
    auto value = launcher.look_up(key);
    if (!value) failed(value.error());
    text = std::move(*value);
    return text.has_value();
  });
  auto answer = nlohmann::json::parse(*text, nullptr, false);
  if (!answer.is_object()) fail_call(MPI_ERR_INTERN, "the launcher's answer makes no sense");
  return answer;
}

}  // namespace rmq::mpi
