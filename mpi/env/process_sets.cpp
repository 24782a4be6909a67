// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/process_sets.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <charconv>
#include <optional>

#include "engine/call/check.hpp"
#include "start/process_sets.hpp"

namespace rmq::mpi {
namespace {

constexpr const char *kWorld = "mpi://WORLD", *kSelf = "mpi://SELF";
constexpr std::string_view kHostName = "rmq://host/";  // and its number

Ranks on_host(int host) {
  const adi::Device& device = *runtime().device;
  return device.job().host_of_rank.places_on(host, Ranks::rule(0, device.size()));
}

/// Those of the user.
std::vector<ProcessSet> named_sets() {
  const adi::Device& device = *runtime().device;
  auto sets = parse_process_sets(device.config().psets, device.size());
  if (!sets) fail_call(MPI_ERR_OTHER, "RMQ_PSETS: " + sets.error().what);
  return std::move(*sets);
}

std::optional<int> host_number(std::string_view name) {
  if (!name.starts_with(kHostName)) return std::nullopt;
  name.remove_prefix(kHostName.size());
  int host = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), host);
  if (error != std::errc{} || end != name.data() + name.size() || host < 0) return std::nullopt;
  return host;
}

}  // namespace

std::vector<std::string> own_process_sets() {
  const adi::Device& device = *runtime().device;
  std::vector<std::string> names{kWorld, kSelf,
                                 fmt::format("{}{}", kHostName, device.job().host_of_rank[device.rank()])};
  for (const ProcessSet& s : named_sets()) {
    if (s.ranks.place_of(device.rank()) >= 0) names.push_back(s.name);
  }
  return names;
}

std::optional<Ranks> find_process_set(std::string_view name) {
  const Runtime& rt = runtime();
  const std::string text(name);
  if (::strcasecmp(text.c_str(), kWorld) == 0) return rt.world->group->world;
  if (::strcasecmp(text.c_str(), kSelf) == 0) return rt.self->group->world;
  if (const auto host = host_number(name)) {
    if (Ranks members = on_host(*host); !members.empty()) return members;
  }
  for (ProcessSet& s : named_sets()) {
    if (s.name == name) return std::move(s.ranks);
  }
  return std::nullopt;
}

Ranks process_set_arg(const char* name, const char* argument) {
  if (auto found = find_process_set(out(name, argument))) return *std::move(found);
  std::string known;
  for (const std::string& own : own_process_sets()) known += (known.empty() ? "" : ", ") + own;
  fail_call(MPI_ERR_ARG,
            fmt::format("there is no process set '{}' (argument {}; this process is in {})", name, argument, known));
}

}  // namespace rmq::mpi
