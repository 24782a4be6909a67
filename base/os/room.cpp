// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/room.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace rmq::os {
namespace {

// Of the whole, what is left to others; and of what is left, what may be taken before another look.
constexpr std::uint64_t kForOthers = 64, kUnseen = 256;

std::uint64_t without(std::uint64_t all, std::uint64_t taken) {
  return all - std::min(all, taken);
}

// The number behind a word at the begin of a line.
std::optional<std::uint64_t> number_of(const std::string& file, std::string_view word) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::uint64_t number = 0;
    if (line.starts_with(word) && std::istringstream(line.substr(word.size())) >> number) return number;
  }
  return {};
}

std::uint64_t machine_has(const std::string& root) {
  constexpr std::uint64_t kUnit = 1024;
  const std::string file = root + "/proc/meminfo";
  const auto free = number_of(file, "MemAvailable:"), all = number_of(file, "MemTotal:");
  if (!free || !all) return UINT64_MAX;  // it does not say
  return without(*free + number_of(file, "SwapFree:").value_or(0), *all / kForOthers) * kUnit;
}

// What a cgroup of that folder allows; what it has of files, and can do without, it does not count.
std::uint64_t cgroup_has(const std::string& folder, const char* limit_file, const char* used_file,
                         const char* files_word) {
  const auto limit = number_of(folder + limit_file, "");  // "max" is no number
  const auto used = number_of(folder + used_file, "");
  if (!limit || !used) return UINT64_MAX;
  const std::uint64_t files = number_of(folder + "/memory.stat", files_word).value_or(0);
  return without(without(*limit, *limit / kForOthers), without(*used, files));
}

// Each line names a cgroup, "number:controllers:path"; those above it limit it as well. In a container the path may be
// another one than here, but the topmost folder is its own.
std::uint64_t cgroups_have(const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == line.npos) continue;
    const std::string top = root + "/sys/fs/cgroup" + (unified ? "" : "/memory");
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      const std::string folder = path == "/" ? top : top + path;
      least = std::min(least, unified ? cgroup_has(folder, "/memory.max", "/memory.current", "inactive_file ")
                                      : cgroup_has(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                                   "total_inactive_file "));
      if (path.empty() || path.find('/') == path.npos) break;
    }
  }
  return least;
}

}  // namespace

std::uint64_t memory_left(const std::string& root) {
  return std::min(machine_has(root), cgroups_have(root));
}

bool has_room(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> unseen{0};  // may be taken before the next look
  std::uint64_t now = unseen.load(std::memory_order_relaxed);
  while (bytes <= now) {
    if (unseen.compare_exchange_weak(now, now - bytes, std::memory_order_relaxed)) return true;
  }
  const std::uint64_t left = memory_left();
  if (bytes > left) return false;
  unseen.store((left - bytes) / kUnseen, std::memory_order_relaxed);
  return true;
}

}  // namespace rmq::os
