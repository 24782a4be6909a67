// SPDX-License-Identifier: BSD-3-Clause
// rmqinfo: what this build is, what it can do here, and every variable that changes it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "adi/device.hpp"
#include "base/config.hpp"
#include "base/os/cpus.hpp"
#include "engine/coll/rules.hpp"

namespace {

using rmq::Config;
using rmq::adi::Device;
using rmq::adi::Waiter;

constexpr const char* kBuild =
#if defined(RMQ_DISPATCH_plugin)
    "plug-in (methods are loaded by name)";
#elif defined(RMQ_DISPATCH_single)
    "single method (no dispatch)";
#else
    "switch over the compiled methods";
#endif

std::string current(const rmq::ConfigVariable& v) {
  const char* set = std::getenv(std::string(v.name).c_str());
  return set ? fmt::format("{} (default {})", set, v.value.empty() ? "empty" : v.value) : std::string(v.value);
}

void print_build() {
  fmt::print("rmq {}\n  built with {} {}, C++{}\n  dispatch: {}\n  methods: {}\n  CPUs usable here: {}\n\n",
             RMQ_VERSION,
#if defined(__clang__)
             "clang",
#else
             "gcc",
#endif
             __VERSION__, __cplusplus / 100 % 100, kBuild, fmt::join(rmq::adi::built_in_methods(), ", "),
             rmq::adi::usable_cpus(rmq::os::allowed_cpus()));
}

void print_variables() {
  fmt::print("Configuration (environment variables)\n");
  for (const rmq::ConfigVariable& v : rmq::config_variables()) {
    fmt::print("  {} = {}   [{}]\n      {}\n", v.name, current(v), v.unit, v.meaning);
  }
  fmt::print("\n");
}

// Two devices of one process tell what the methods choose on this machine, without a job.
struct Limits {
  std::size_t eager = 0, fragment = 0;
};

rmq::Result<Limits> limits_of(const std::string& method, int ranks) {
  auto boots = rmq::local_bootstraps(ranks);
  rmq::adi::DeviceOptions options;
  auto config = Config::from_environment();
  if (!config) return tl::unexpected(config.error());
  options.config = *config;
  options.config.methods = method;
  options.config.trace.clear();
  auto device = Device::MPID_Init(options, *boots[0]);
  if (!device) return tl::unexpected(device.error());
  const auto& m = *(*device)->methods().front();
  return Limits{m.eager_max(1), m.fragment_max(1)};
}

std::string size_text(std::size_t bytes) {
  if (bytes >= (1u << 20) && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1024 && bytes % 1024 == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

void print_protocols() {
  fmt::print("Which protocol serves which size (2 ranks on this host)\n");
  for (const std::string& name : rmq::adi::built_in_methods()) {
    const auto l = limits_of(name, 2);
    if (!l) {
      fmt::print("  {:<4} not usable: {}\n", name, l.error().what);
      continue;
    }
    const std::size_t line = rmq::inline_room(rmq::Kind::SHORT);
    if (name == "shm")
      fmt::print("  {:<4} 0 – {}: SHORT, header and data in one cache line: one line moves\n", name, line);
    fmt::print(
        "  {:<4} up to {}: SHORT, copied once into the link and once out: no round trip is worth saving the copy\n",
        name, size_text(l->eager));
    fmt::print("  {:<4} above: REQUEST_SEND, then the data goes straight into the receiver's buffer{}\n", name,
               name == "shm" ? fmt::format("\n       (get by process_vm_readv where that is fast or the sender does "
                                           "not wait, else both ranks\n       copy through a ring, {} a piece)",
                                           size_text(l->fragment))
                             : fmt::format(", {} a packet", size_text(l->fragment)));
  }
  fmt::print(
      "  Without credit at the receiver, a message of any size waits, or goes by rendezvous when the receiver asks.\n");
}

// The rules that choose among algorithms of collectives, those of RMQ_COLL first.
bool print_rules() {
  namespace coll = rmq::mpi::coll;
  const char* set = std::getenv("RMQ_COLL");
  const auto choice = coll::Choice::parse(set ? set : "");
  if (!choice) {
    fmt::print(stderr, "rmqinfo: {}\n", choice.error().what);
    return false;
  }
  fmt::print(
      "Of each collective the first row whose algorithm can serve the call, and whose conditions hold. Sizes are of\n"
      "the vector (bcast, reduce, allreduce), of all blocks (allgather, reduce_scatter), of one (gather, scatter,\n"
      "alltoall). 'hosts': in two levels, where ranks lie on several hosts, several on one; 'board': shared memory.\n");
  for (const coll::Collective what : coll::kEachCollective) {
    fmt::print("\n{}\n", coll::name_of(what));
    const auto row = [&](const coll::Rule& r, const char* from) {
      if (r.what == what) fmt::print("  {:<14} {}{}\n", coll::name_of(r.algorithm), r.text(), from);
    };
    for (const coll::Rule& r : choice->forced()) row(r, "   [RMQ_COLL]");
    for (const coll::Rule& r : coll::table()) row(r, "");
  }
  return true;
}

nlohmann::json as_json() {
  nlohmann::json j{{"version", RMQ_VERSION}, {"dispatch", kBuild}, {"methods", rmq::adi::built_in_methods()}};
  for (const rmq::ConfigVariable& v : rmq::config_variables()) {
    const char* set = std::getenv(std::string(v.name).c_str());
    j["variables"].push_back({{"name", v.name},
                              {"default", v.value},
                              {"value", set ? set : std::string(v.value)},
                              {"unit", v.unit},
                              {"meaning", v.meaning}});
  }
  return j;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What this RMQ is and what changes it"};
  bool json = false;
  app.set_version_flag("--version", "rmqinfo " RMQ_VERSION);
  app.add_flag("--json", json, "build and variables as JSON");
  const CLI::App* const coll = app.add_subcommand("coll", "which algorithm serves which collective, and when");
  CLI11_PARSE(app, argc, argv);
  if (auto config = Config::from_environment(); !config) fmt::print(stderr, "rmqinfo: {}\n", config.error().what);
  if (coll->parsed()) return print_rules() ? 0 : 1;
  if (json) return fmt::print("{}\n", as_json().dump(2)), 0;
  print_build();
  print_variables();
  print_protocols();
  return 0;
}
