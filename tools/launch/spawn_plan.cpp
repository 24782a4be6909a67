// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/spawn_plan.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "base/record/byte_text.hpp"
#include "start/bootstrap_env.hpp"
#include "tools/launch/soft.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {
namespace {

using nlohmann::json;
using Keys = std::map<std::string, std::string>;

constexpr int kMostRanks = 1 << 16;
constexpr const char* kEnvEach = "rmq_env_each";

tl::unexpected<Error> refuse(const std::string& key, const std::string& value, const std::string& why) {
  return fail(Errc::argument, fmt::format("info key {}='{}': {}", key, value, why));
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Lines of text; one that begins with a blank goes on with the one before, as its next line.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(' ') && !lines.empty())
      lines.back() += "\n" + line.substr(1);
    else if (!line.empty())
      lines.push_back(line);
  }
  return lines;
}

/// A value may be longer than info objects have room for: KEY.1, KEY.2 … are the rest of it.
void put_together(Keys& keys) {
  for (auto& [key, value] : keys)
    for (int i = 1;; ++i) {
      const auto more = keys.find(fmt::format("{}.{}", key, i));
      if (more == keys.end()) break;
      value += more->second;
      keys.erase(more);
    }
}

/// The keys of the program, and behind them those of its file.
Result<Keys> keys_of(const json& program) {
  Keys keys;
  const json info = program.value("info", json::object());
  for (const auto& [key, value] : info.items()) keys[as_bytes(key)] = as_bytes(value.get<std::string>());
  put_together(keys);
  const auto file = keys.find("file");
  if (file == keys.end()) return keys;
  const auto text = read_plain_file(file->second);
  if (!text) return refuse("file", file->second, text.error().what);
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#') continue;
    if (equals == std::string::npos) return refuse("file", file->second, fmt::format("'{}' is no KEY=VALUE", line));
    keys.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return keys;
}

int place_in(const HostList& universe, std::string_view name) {
  const auto at = std::ranges::find(universe, name, &HostSlots::name);
  return at == universe.end() ? -1 : static_cast<int>(at - universe.begin());
}

/// The place in the universe of a host that the rank `asks` has named; -1: it has none of this name.
int find_host(const JobPlan& parent, int asks, std::string_view name) {
  if (const int place = place_in(parent.universe, name); place >= 0) return place;
  const std::string& own = parent.hosts[static_cast<std::size_t>(parent.job.host_of_rank[asks])];
  if (name == "localhost" || (parent.pretended && is_this_host(name))) return place_in(parent.universe, own);
  if (!is_this_host(name)) return -1;
  const auto here = std::ranges::find_if(parent.universe, is_this_host, &HostSlots::name);
  return here == parent.universe.end() ? -1 : static_cast<int>(here - parent.universe.begin());
}

/// The launcher serves others meanwhile: it waits for no file.
Result<HostList> hosts_in(const std::string& path, std::vector<std::string>& notes) {
  const auto text = read_plain_file(path);
  if (!text) return tl::unexpected(text.error());
  return read_host_text(*text, path, notes);
}

/// What the keys `host` and `hostfile` name; empty without them.
Result<HostList> named_hosts(const Keys& keys, std::vector<std::string>& notes) {
  HostList all;
  for (const char* key : {"host", "hostfile"}) {
    const auto found = keys.find(key);
    if (found == keys.end()) continue;
    auto list = key == std::string_view("host") ? parse_host_list(found->second) : hosts_in(found->second, notes);
    if (!list) return refuse(key, found->second, list.error().what);
    for (HostSlots& host : *list) add_host(all, std::move(host));
  }
  return all;
}

/// The place in the universe of each of so many processes: on hosts that are named, by their slots, again and again;
/// else in slots that are free, and then in turn on all.
Result<std::vector<int>> places_of(const Keys& keys, int processes, const JobPlan& parent, int asks, Busy& busy,
                                   std::vector<std::string>& notes) {
  const HostList& universe = parent.universe;
  std::vector<int> places;
  const auto take = [&](const HostList& from, int count, bool in_turn) {
    for (const int at : place_ranks(from, count, in_turn))
      places.push_back(place_in(universe, from[static_cast<std::size_t>(at)].name));
  };
  auto named = named_hosts(keys, notes);
  if (!named) return tl::unexpected(named.error());
  for (HostSlots& host : *named) {
    const int place = find_host(parent, asks, host.name);
    if (place < 0) {
      std::vector<std::string_view> names;
      for (const HostSlots& one : universe) names.push_back(one.name);
      return fail(Errc::argument, fmt::format("info key host or hostfile: '{}' is no host of this job; it has {}",
                                              host.name, fmt::join(names, ", ")));
    }
    host.name = universe[static_cast<std::size_t>(place)].name;
  }
  if (!named->empty()) {
    take(*named, processes, false);
    if (places.size() < static_cast<std::size_t>(processes))
      return fail(Errc::argument,
                  fmt::format("info key hostfile: its max_slots allow {} processes, not {}", places.size(), processes));
  } else {
    HostList idle;
    int slots = 0;
    for (const HostSlots& host : universe) {
      const int left = host.slots - busy[host.name];
      if (left > 0) idle.push_back({host.name, left});
      slots = std::min(slots + std::max(left, 0), processes);
    }
    if (slots > 0) take(idle, slots, false);
    if (slots < processes) take(universe, processes - slots, true);
  }
  for (const int place : places) ++busy[universe[static_cast<std::size_t>(place)].name];
  return places;
}

Result<Section> section_of(const json& program, const Keys& keys, const Section& base) {
  Section s;
  s.environment = base.environment;
  s.named = base.named;
  s.folder = base.folder;
  s.ranks = program.value("processes", 0);
  if (const auto soft = keys.find("soft"); soft != keys.end()) {
    const auto count = soft_count(soft->second, s.ranks);
    if (!count) return refuse("soft", soft->second, count.error().what);
    s.ranks = *count;
  }
  s.command.push_back(as_bytes(program.value("command", "")));
  const json arguments = program.value("arguments", json::array());
  for (const json& word : arguments) s.command.push_back(as_bytes(word.get<std::string>()));
  if (const auto folder = keys.find("wdir"); folder != keys.end())
    s.folder = (std::filesystem::path(s.folder) / folder->second).string();
  if (const auto path = keys.find("path"); path != keys.end()) {
    const std::string rest = s.environment.get("PATH");
    s.environment.set("PATH", path->second + (rest.empty() ? "" : ":" + rest));
  }
  if (const auto arch = keys.find("arch"); arch != keys.end()) {
    utsname machine{};
    ::uname(&machine);
    if (arch->second != machine.machine)
      return refuse("arch", arch->second, fmt::format("all hosts of this job are {}", machine.machine));
  }
  if (const auto env = keys.find("env"); env != keys.end()) {
    for (const std::string& line : lines_of(env->second)) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos || equals == 0) return refuse("env", env->second, "expects lines NAME=VALUE");
      s.environment.set(line.substr(0, equals), line.substr(equals + 1));
      s.named.push_back(line.substr(0, equals));
    }
  }
  return s;
}

/// Lines NUMBER TEXT: calls `take` with the text of those that are for this process.
template <class Take>
Result<void> for_process(const Keys& keys, const std::string& key, int number_in_program, Take&& take) {
  const auto each = keys.find(key);
  if (each == keys.end()) return {};
  for (const std::string& line : lines_of(each->second)) {
    const std::size_t space = line.find(' ');
    const auto whose = number(line.substr(0, space));
    if (!whose || space == std::string::npos ||
        !take(std::string_view(line).substr(space + 1), *whose == number_in_program))
      return refuse(key, line, fmt::format("expects lines NUMBER {}", key == kEnvEach ? "NAME=VALUE" : "PATH"));
  }
  return {};
}

/// What the process of this number among its program's, and this rank, has for itself.
Result<Extras> extras_of(const Keys& keys, int number_in_program, int rank) {
  Extras own;
  const auto variable = [&](std::string_view text, bool mine) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    if (mine) own.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    return true;
  };
  if (auto ok = for_process(keys, kEnvEach, number_in_program, variable); !ok) return tl::unexpected(ok.error());
  for (const auto& [key, path] : {std::pair("rmq_stdin", &own.input), std::pair("rmq_stdout", &own.output),
                                  std::pair("rmq_stderr", &own.error)}) {
    if (const auto found = keys.find(key); found != keys.end()) *path = found->second;
    const auto take = [&to = *path](std::string_view text, bool mine) {
      if (mine) to = text;
      return !text.empty();
    };
    if (auto ok = for_process(keys, fmt::format("{}_each", key), number_in_program, take); !ok)
      return tl::unexpected(ok.error());
    for (std::size_t at; (at = path->find("%r")) != std::string::npos;) path->replace(at, 2, std::to_string(rank));
  }
  return own;
}

const Section& section_with(const JobPlan& plan, int rank) {
  for (const Section& s : plan.sections) {
    if (rank < s.ranks) return s;
    rank -= s.ranks;
  }
  return plan.sections.back();
}

}  // namespace

Result<JobPlan> plan_spawn(const json& wish, const JobPlan& parent, int parent_rank, Busy busy) {
  JobPlan plan;
  plan.job = boot::singleton_job();
  plan.job.host_name = parent.job.host_name;
  plan.pretended = parent.pretended;
  plan.binding = parent.binding;
  plan.job.ft = parent.job.ft;
  plan.universe = parent.universe;
  std::vector<int> places;  // by rank, in the universe
  std::error_code unreadable;
  const auto too_many = [](std::size_t ranks) {
    return fail(Errc::argument, fmt::format("{} processes are too many: a job has {} at most", ranks, kMostRanks));
  };
  const json programs = wish.value("programs", json::array());
  for (const json& program : programs) {
    const auto keys = keys_of(program);
    if (!keys) return tl::unexpected(keys.error());
    auto section = section_of(program, *keys, section_with(parent, parent_rank));
    if (!section) return tl::unexpected(section.error());
    if (places.size() + static_cast<std::size_t>(section->ranks) > kMostRanks)
      return too_many(places.size() + static_cast<std::size_t>(section->ranks));
    const auto hosts = places_of(*keys, section->ranks, parent, parent_rank, busy, plan.notes);
    if (!hosts) return tl::unexpected(hosts.error());
    for (int i = 0; i < section->ranks; ++i) {
      const int rank = static_cast<int>(places.size());
      auto extras = extras_of(*keys, i, rank);
      if (!extras) return tl::unexpected(extras.error());
      for (std::string* path : {&extras->input, &extras->output, &extras->error})
        if (!path->empty()) *path = std::filesystem::absolute(*path, unreadable);
      plan.extras[rank] = std::move(*extras);
      places.push_back((*hosts)[static_cast<std::size_t>(i)]);
    }
    plan.sections.push_back(std::move(*section));
  }
  if (places.empty()) return fail(Errc::argument, "no process is asked for: maxprocs, or soft, comes to 0");
  plan.job.size = static_cast<int>(places.size());
  plan.job.universe_size =
      boot::universe_size(parent.job.universe_size > plan.job.size ? parent.job.universe_size : 0, plan.job.size);
  // Those that are used, numbered without a gap.
  std::vector<int> host_of_rank;
  std::vector<int> used;
  for (const int place : places) {
    const auto at = std::ranges::find(used, place);
    host_of_rank.push_back(static_cast<int>(at - used.begin()));
    if (at == used.end()) {
      used.push_back(place);
      plan.hosts.push_back(plan.universe[static_cast<std::size_t>(place)].name);
      plan.here.push_back(plan.pretended || is_this_host(plan.hosts.back()));
    }
  }
  plan.job.host_of_rank = Hosts(host_of_rank);
  const bool elsewhere = std::ranges::find(plan.here, false) != plan.here.end();
  for (Section& s : plan.sections) {
    // Where an agent starts is the other host's business.
    if (elsewhere) s.folder = std::filesystem::absolute(s.folder.empty() ? "." : s.folder, unreadable);
    Environment& e = s.environment;
    e.set("RMQ_JOB", plan.job.job);
    e.set("RMQ_SIZE", std::to_string(plan.job.size));
    e.set("RMQ_HOSTS", std::to_string(plan.job.host_of_rank.hosts()));
    e.set("RMQ_SECRET", boot::to_hex(plan.job.secret));
    e.set("RMQ_UNIVERSE_SIZE", std::to_string(plan.job.universe_size));
    // Of the parent's parent, and of the ranks of another world.
    e.unset_matching([](std::string_view name) { return name == "RMQ_PARENT_PORT" || name == "RMQ_PSETS"; });
    if (const std::string port = wish.value("port", ""); !port.empty()) e.set("RMQ_PARENT_PORT", port);
    // Files of traces are named by rank: each job has a folder of its own, below that of the one that is the user's.
    if (const std::string folder = e.get("RMQ_TRACE"); !folder.empty()) {
      const std::string own = folder + "/job-" + plan.job.job;
      std::error_code error;
      std::filesystem::create_directories(own, error);
      e.set("RMQ_TRACE", own);  // which says so itself where it cannot be written
    }
  }
  return plan;
}

}  // namespace rmq::launch
