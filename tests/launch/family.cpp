// SPDX-License-Identifier: BSD-3-Clause
#include "tests/launch/family.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rmq::test {

std::string next_mark() {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}", ::getpid(),
                     count.fetch_add(1, std::memory_order_relaxed));  // relaxed: only uniqueness matters
}

std::string read_all(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();  // not an iterator, which throws when a process ends while its files are read
  return all.str();
}

std::vector<pid_t> family_of(const std::string& mark, const std::string& wanted_name) {
  const std::string wanted = fmt::format("{}={}", kMarkVariable, mark);
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name[0] < '1' || name[0] > '9') continue;
    const std::string environment = read_all(entry.path() / "environ");  // empty for a zombie
    if (!wanted_name.empty() && read_all(entry.path() / "comm") != wanted_name + "\n") continue;
    if (environment.starts_with(wanted + '\0') || environment.find('\0' + wanted + '\0') != std::string::npos)
      out.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return out;
}

}  // namespace rmq::test
