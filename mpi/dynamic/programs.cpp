// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dynamic/programs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/record/byte_text.hpp"
#include "engine/call/call.hpp"

namespace rmq::mpi {
namespace {

using nlohmann::json;

json words_of(char** argv) {
  json words = json::array();
  for (char** word = argv; word && *word; ++word) words.push_back(as_text(*word));
  return words;
}

}  // namespace

json describe(const Programs& p, std::uint64_t& processes) {
  if (p.count <= 0) fail_call(MPI_ERR_ARG, fmt::format("argument count is {}", p.count));
  out(p.maxprocs, "array_of_maxprocs");
  for (int i = 0; i < p.count; ++i) {
    if (p.maxprocs[i] < 0)
      fail_call(MPI_ERR_ARG, fmt::format("maxprocs of array_of_commands[{}] is negative: {}", i, p.maxprocs[i]));
    processes += static_cast<std::uint64_t>(p.maxprocs[i]);
  }
  out(p.commands, "array_of_commands");
  json wish{{"programs", json::array()}};
  for (int i = 0; i < p.count; ++i) {
    const char* const command = p.commands[i];
    if (!command || !*command) fail_call(MPI_ERR_ARG, fmt::format("argument array_of_commands[{}] is empty", i));
    char** const argv = p.argvs == MPI_ARGVS_NULL ? MPI_ARGV_NULL : p.argvs[i];
    json keys = json::object();
    if (const Info* info = p.infos ? optional_info_arg(p.infos[i]) : nullptr)
      for (const auto& [key, value] : info->entries) keys[as_text(key)] = as_text(value);
    wish["programs"].push_back({{"command", as_text(command)},
                                {"arguments", words_of(argv)},
                                {"processes", p.maxprocs[i]},
                                {"info", std::move(keys)}});
  }
  return wish;
}

}  // namespace rmq::mpi
