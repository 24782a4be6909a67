// SPDX-License-Identifier: BSD-3-Clause
#include "engine/life/settings.hpp"

#include <cstdlib>
#include <map>

namespace rmq::mpi {
namespace {

/// By the name of the environment variable. Never destroyed.
std::map<std::string, std::string, std::less<>>& written() {
  static auto* const all = new std::map<std::string, std::string, std::less<>>;
  return *all;
}

}  // namespace

const char* setting(const char* name) {
  const auto found = written().find(std::string_view(name));
  return found != written().end() ? found->second.c_str() : std::getenv(name);
}

void set_variable(std::string_view name, std::string value) {
  written().insert_or_assign(std::string(name), std::move(value));
}

}  // namespace rmq::mpi
