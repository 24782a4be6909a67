// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/hostlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>

#include "tools/launch/words.hpp"
#include "tools/process/fd.hpp"

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
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("-_.:@%", c); });
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

// A part of a range of names. Some sites number their nodes by date, which is more than an int holds.
std::optional<std::uint64_t> name_number(string_view text) {
  constexpr std::size_t kMostDigits = 18;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() > kMostDigits) return std::nullopt;
  return value;
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
  if (ranges.empty()) return false;
  while (!ranges.empty()) {
    const string_view range = next_part(ranges);
    const std::size_t dash = std::min(range.find('-'), range.size());
    const string_view low = range.substr(0, dash), high = dash < range.size() ? range.substr(dash + 1) : low;
    const auto first = name_number(low), last = name_number(high);
    if (!first || !last || *first > *last || *last - *first >= kMostHosts - std::min(names.size(), kMostHosts))
      return false;
    for (std::uint64_t i = *first; i <= *last; ++i)
      if (!expand(fmt::format("{}{:0{}}{}", text.substr(0, open), i, low.size(), text.substr(close + 1)), names))
        return false;
  }
  return true;
}

// "a", "a:2", "n[1-4]:2", "fd00::1", "[fd00::1]:2". Nothing where it makes no sense.
std::vector<HostSlots> read_hosts(string_view text) {
  int slots = 1;
  std::vector<std::string> names;
  const std::size_t close = text.find(']');
  const bool is_address = text.starts_with('[') && text.substr(0, close).find(':') != string_view::npos;
  const std::size_t colon = text.find(':', is_address ? std::min(close, text.size()) : 0);
  // An IPv6 address without brackets has more colons than one, and no slots.
  if (colon != string_view::npos && text.find(':', colon + 1) == string_view::npos) {
    const auto count = number(text.substr(colon + 1), 1);
    if (!count) return {};
    slots = *count;
    text = text.substr(0, colon);
  }
  if (is_address) {
    if (close == string_view::npos || close + 1 != text.size() || !is_name(text.substr(1, close - 1))) return {};
    names.emplace_back(text.substr(1, close - 1));
  } else if (!expand(text, names)) {
    return {};
  }
  std::vector<HostSlots> hosts;
  for (std::string& name : names) hosts.push_back({std::move(name), slots});
  return hosts;
}

// The words of a line, where "slots = 2" is one.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const bool goes_on = out.size() > 1 && (out.back().ends_with('=') || word.starts_with('='));
    if (goes_on)
      out.back() += word;
    else
      out.push_back(std::move(word));
  }
  return out;
}

// Takes one word behind the name of a host: a number of ranks, or KEY=VALUE. The value where it is a number that makes
// no sense; an empty text otherwise. `unknown` collects what means nothing here.
std::string take_word(const std::string& word, std::vector<HostSlots>& hosts, std::vector<std::string>& unknown) {
  const std::size_t equals = word.find('=');
  const bool is_number = std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  std::string key = is_number ? "slots" : word.substr(0, equals);
  std::ranges::replace(key, '-', '_');
  int HostSlots::*field = nullptr;
  if (key == "slots" || key == "count" || key == "cpus") field = &HostSlots::slots;
  if (key == "max_slots" || key == "max_count" || key == "max_cpus") field = &HostSlots::most;
  if (field == nullptr || (equals == std::string::npos && !is_number)) {
    unknown.push_back(word);
    return "";
  }
  const auto value = number(is_number ? string_view(word) : string_view(word).substr(equals + 1), 1);
  for (HostSlots& host : hosts) host.*field = value.value_or(1);
  return value ? "" : word;
}

}  // namespace

void add_host(HostList& list, HostSlots host) {
  const auto found = std::ranges::find(list, host.name, &HostSlots::name);
  if (found == list.end()) {
    list.push_back(std::move(host));
  } else {
    found->slots = std::min(found->slots + host.slots, kMostSlots);
    found->most = std::max(found->most, host.most);
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

Result<HostList> read_host_file(const std::string& path, std::vector<std::string>& notes) {
  const auto text = read_file(path);
  if (!text) return wrong(text.error().what);
  return read_host_text(*text, path, notes);
}

Result<HostList> read_host_text(const std::string& text, const std::string& path, std::vector<std::string>& notes) {
  constexpr string_view kByteOrderMark = "\xef\xbb\xbf";  // which some editors put before a text
  std::istringstream file(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text);
  HostList list;
  int line_number = 0, odd_lines = 0;
  std::string odd;  // of the first line that has some
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    line.erase(std::min(line.find('#'), line.size()));
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    std::vector<HostSlots> hosts = read_hosts(words[0]);
    if (hosts.empty()) return wrong(fmt::format("line {}: '{}' is not a host, or HOST:RANKS", line_number, words[0]));
    std::vector<std::string> unknown;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (const std::string bad = take_word(words[i], hosts, unknown); !bad.empty())
        return wrong(fmt::format("line {}: '{}' is not a number of ranks", line_number, bad));
    if (hosts[0].most > 0 && hosts[0].most < hosts[0].slots)
      return wrong(
          fmt::format("line {}: {} slots are more than max_slots, {}", line_number, hosts[0].slots, hosts[0].most));
    if (!unknown.empty() && odd_lines++ == 0) odd = fmt::format("line {}: '{}'", line_number, fmt::join(unknown, " "));
    for (HostSlots& host : hosts) add_host(list, std::move(host));
  }
  if (list.empty()) return wrong("names no host");
  if (odd_lines > 0)
    notes.push_back(fmt::format("{} {} is ignored{}; HOST slots=N max_slots=N is what counts", path, odd,
                                odd_lines > 1 ? fmt::format(", and such words in {} more lines", odd_lines - 1) : ""));
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
  std::vector<int> out, has(hosts.size());
  // Gives a host up to so many more.
  const auto give = [&](std::size_t host, int count) {
    const int room = hosts[host].most > 0 ? hosts[host].most - has[host] : count;
    const auto given = std::min(static_cast<std::size_t>(std::clamp(room, 0, count)), wanted - out.size());
    out.insert(out.end(), given, static_cast<int>(host));
    has[host] += static_cast<int>(given);
  };
  while (out.size() < wanted) {
    const std::size_t before = out.size();
    if (in_turn) {
      int most_slots = 0;
      for (const HostSlots& host : hosts) most_slots = std::max(most_slots, host.slots);
      for (int used = 0; used < most_slots && out.size() < wanted; ++used)
        for (std::size_t host = 0; host < hosts.size(); ++host)
          if (used < hosts[host].slots) give(host, 1);
    } else {
      for (std::size_t host = 0; host < hosts.size(); ++host) give(host, hosts[host].slots);
    }
    if (out.size() == before) break;
  }
  return out;
}

}  // namespace rmq::launch
