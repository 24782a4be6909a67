#include "tools/launch/hostlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "tools/launch/words.hpp"

namespace rmq::launch {

namespace {

using std::string_view;

constexpr int kMostSlots = 1 << 20;
constexpr std::size_t kMostHosts = 1 << 20;

std::optional<int> number(string_view text, int low) {
  return parse_number(text, low, kMostSlots);
}

// A name goes into a command line, where it must be no option.
bool is_name(string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("-_.:@%[]", c); });
}

// Up to the next comma that is not in brackets; taken off.
string_view next_part(string_view& rest) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < rest.size() && (rest[end] != ',' || depth > 0); ++end)
    depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
  const string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// "n[1-3,07]x": each number as wide as it is written. False where it makes no sense.
bool expand(string_view text, std::vector<std::string>& names) {
  const std::size_t open = text.find('[');
  if (open == string_view::npos) {
    names.emplace_back(text);
    return is_name(text);
  }
  const std::size_t close = text.find(']', open);
  if (close == string_view::npos) return false;
  string_view ranges = text.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    const string_view range = next_part(ranges);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const string_view low = range.substr(0, dash), high = dash < range.size() ? range.substr(dash + 1) : low;
    const auto first = number(low, 0), last = number(high, 0);
    if (!first || !last || *first > *last || names.size() + static_cast<std::size_t>(*last - *first) > kMostHosts)
      return false;
    for (int i = *first; i <= *last; ++i)
      if (!expand(fmt::format("{}{:0{}}{}", text.substr(0, open), i, low.size(), text.substr(close + 1)), names))
        return false;
  }
  return true;
}

// "a", "a:2", "n[1-4]:2"; an IPv6 address has more colons, and may stand in brackets. Nothing where it makes no sense.
std::vector<HostSlots> read_hosts(string_view text) {
  int slots = 1;
  const std::size_t colon = text.rfind(':');
  if (colon != string_view::npos && text.find(':') == colon) {
    const auto count = number(text.substr(colon + 1), 1);
    if (!count) return {};
    slots = *count;
    text = text.substr(0, colon);
  }
  std::vector<std::string> names;
  if (text.starts_with('[')) {
    if (is_name(text)) names.emplace_back(text);
  } else if (!expand(text, names)) {
    return {};
  }
  std::vector<HostSlots> hosts;
  for (std::string& name : names) hosts.push_back({std::move(name), slots});
  return hosts;
}

bool is_number(string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

void add_host(HostList& list, HostSlots host) {
  const auto found = std::ranges::find(list, host.name, &HostSlots::name);
  if (found == list.end()) {
    list.push_back(std::move(host));
  } else {
    found->slots = std::min(found->slots + host.slots, kMostSlots);
  }
}

Result<HostList> parse_host_list(string_view text) {
  HostList list;
  for (string_view rest = text; !rest.empty();) {
    const string_view part = next_part(rest);
    std::vector<HostSlots> hosts = read_hosts(part);
    if (hosts.empty()) return wrong(fmt::format("'{}' is not a host, or HOST:RANKS", part));
    for (HostSlots& host : hosts) add_host(list, std::move(host));
  }
  if (list.empty()) return wrong("names no host");
  return list;
}

Result<HostList> read_host_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return wrong(fmt::format("cannot be read: {}", std::strerror(errno)));
  HostList list;
  int line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    line.erase(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string name, second;
    if (!(words >> name)) continue;
    std::vector<HostSlots> hosts = read_hosts(name);
    if (hosts.empty()) return wrong(fmt::format("line {}: '{}' is not a host, or HOST:RANKS", line_number, name));
    if (words >> second) {
      const bool named = second.starts_with("slots=");
      const auto slots = number(named ? string_view(second).substr(6) : string_view(second), 1);
      if (!slots && (named || is_number(second)))
        return wrong(fmt::format("line {}: '{}' is not a number of ranks", line_number, second));
      for (HostSlots& host : hosts) host.slots = slots.value_or(host.slots);
    }
    for (HostSlots& host : hosts) add_host(list, std::move(host));
  }
  if (list.empty()) return wrong("names no host");
  return list;
}

Result<HostList> read_slurm(string_view nodes, string_view tasks_per_node) {
  std::vector<std::string> names;
  for (string_view rest = nodes; !rest.empty();)
    if (const string_view part = next_part(rest); !expand(part, names))
      return wrong(fmt::format("'{}' is not a list of nodes", part));
  if (names.empty()) return wrong("names no node");
  std::vector<int> tasks;
  for (string_view rest = tasks_per_node; !rest.empty();) {
    const string_view part = next_part(rest);
    const std::size_t bracket = std::min(part.find("(x"), part.size());
    const auto count = number(part.substr(0, bracket), 1);
    const auto times = bracket < part.size() && part.ends_with(')')
                           ? number(part.substr(bracket + 2, part.size() - bracket - 3), 1)
                           : std::optional(1);
    if (!count || !times || (bracket < part.size() && !part.ends_with(')')))
      return wrong(fmt::format("'{}' is not a number of tasks for each node", part));
    tasks.insert(tasks.end(), static_cast<std::size_t>(*times), *count);
  }
  HostList list;
  for (std::size_t i = 0; i < names.size(); ++i) list.push_back({names[i], i < tasks.size() ? tasks[i] : 1});
  return list;
}

std::vector<int> place_ranks(const HostList& hosts, int ranks, bool in_turn) {
  const auto wanted = static_cast<std::size_t>(ranks);
  std::vector<int> out;
  while (out.size() < wanted) {
    if (in_turn) {
      for (int used = 0; out.size() < wanted; ++used) {
        bool any = false;
        for (std::size_t host = 0; host < hosts.size() && out.size() < wanted; ++host) {
          if (used >= hosts[host].slots) continue;
          out.push_back(static_cast<int>(host));
          any = true;
        }
        if (!any) break;
      }
      continue;
    }
    for (std::size_t host = 0; host < hosts.size() && out.size() < wanted; ++host)
      out.insert(out.end(), std::min(static_cast<std::size_t>(hosts[host].slots), wanted - out.size()),
                 static_cast<int>(host));
  }
  return out;
}

}  // namespace rmq::launch
