// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/environment.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>

#include "engine/object/runtime.hpp"

namespace rmq::mpi {
namespace {

/// Ranks of the job: before MPI_Init what the launcher said, the same number; a program that runs alone is one.
std::string job_size() {
  if (const auto& device = runtime().device) return std::to_string(device->size());
  const char* size = std::getenv("RMQ_SIZE");
  return size ? size : "1";
}

/// The command line of this process, as the system knows it.
std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

InfoEntries describe_environment(const std::vector<std::string>& arguments) {
  InfoEntries entries;
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) entries.emplace_back(key, value.substr(0, MPI_MAX_INFO_VAL));
  };
  std::string rest;
  for (std::size_t i = 1; i < arguments.size(); ++i) rest += (i > 1 ? " " : "") + arguments[i];
  add("command", arguments.empty() ? "" : arguments[0]);
  add("argv", rest);
  add("maxprocs", job_size());
  utsname system{};
  if (uname(&system) == 0) {
    add("host", system.nodename);
    add("arch", system.machine);
  }
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory)) add("wdir", directory);
  return entries;
}

Info& environment() {
  static auto* const info = new Info{MPI_INFO_ENV, describe_environment(command_line())};  // never destroyed
  return *info;
}

Info* find_info(MPI_Info handle) {
  return handle == MPI_INFO_ENV ? &environment() : runtime().infos.find(handle);
}

}  // namespace rmq::mpi
