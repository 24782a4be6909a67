// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/option_verbs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <sstream>
#include <utility>

#include "base/config.hpp"
#include "methods/names.hpp"
#include "tools/launch/words.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

using std::string_view;

void add_set(Options& out, const std::string& set) {
  out.sets += (out.sets.empty() ? "" : ";") + set;
}

Result<std::optional<std::chrono::milliseconds>> parse_seconds(const std::string& text, string_view source) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(seconds) || seconds > 1e9)
    return wrong(fmt::format("{} {}: not a number of seconds", source, text));
  if (seconds <= 0) return std::nullopt;
  return std::chrono::milliseconds(static_cast<long long>(std::ceil(seconds * 1000)));
}

namespace {

Result<void> check_name(const std::string& name) {
  if (name.empty() || name.find('=') != std::string::npos)
    return wrong(fmt::format("'{}' is no name for an environment variable", name));
  return {};
}

// Between blanks; '…' and "…" hold a word together, and a '#' where a word could begin is a comment.
std::optional<std::vector<std::string>> quoted_words(string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      if (!std::exchange(in_word, true)) words.emplace_back();
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      in_word = false;
    } else {
      if (!in_word && c == '#' && quote == 0) break;
      if (!std::exchange(in_word, true)) words.emplace_back();
      words.back() += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return words;
}

}  // namespace

// ---- the program and its ranks ----

Result<void> on_ranks(Reading& r, const GivenOption& g) {
  const auto ranks = parse_count(g.value, max_ranks);
  if (!ranks) return wrong(fmt::format("{} {}: the number of ranks must be from 1 to {}", g.word, g.value, max_ranks));
  r.app.ranks = *ranks;
  r.app.ranks_given = true;
  return {};
}

Result<void> on_soft(Reading& r, const GivenOption& g) {
  r.app.soft = g.value;
  return {};
}

Result<void> on_folder(Reading& r, const GivenOption& g) {
  r.app.folder = g.value;
  return {};
}

Result<void> on_path(Reading& r, const GivenOption& g) {
  r.app.path = g.value;
  return {};
}

Result<void> on_arch(Reading&, const GivenOption& g) {
  utsname machine{};
  ::uname(&machine);
  if (g.value != machine.machine)
    return wrong(fmt::format("{} {}: programs run on {} here", g.word, g.value, machine.machine));
  return {};
}

Result<void> on_process_set(Reading& r, const GivenOption& g) {
  if (g.value.find('=') == std::string::npos)
    r.app.sets.push_back(g.value);
  else
    add_set(r.out, g.value);
  return {};
}

Result<void> on_universe(Reading& r, const GivenOption& g) {
  const auto size = parse_count(g.value, max_ranks);
  if (!size) return wrong(fmt::format("{} {}: not a number of ranks", g.word, g.value));
  r.out.universe_size = *size;
  return {};
}

// The standard's -configfile: a line for each program, as between two ':' of a command line.
Result<void> on_config_file(Reading& r, const GivenOption& g) {
  if (r.position != r.arguments.size() || r.arguments.size() > 2)
    return wrong(fmt::format("{} {} stands alone: all options and programs are in the file", g.word, g.value));
  const auto text = read_file(g.value);
  if (!text) return wrong(fmt::format("{} {}: {}", g.word, g.value, text.error().what));
  std::istringstream file(*text);
  std::vector<std::string> all;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const auto words = quoted_words(line);
    if (!words) return wrong(fmt::format("{} {}: line {}: a quotation mark has no end", g.word, g.value, number));
    if (words->empty()) continue;
    if (!all.empty()) all.emplace_back(":");
    all.insert(all.end(), words->begin(), words->end());
  }
  if (std::ranges::find(all, "-configfile") != all.end())
    return wrong(fmt::format("{} {}: a file cannot name another", g.word, g.value));
  r.arguments = std::move(all);
  r.position = 0;
  return {};
}

// ---- variables ----

Result<void> on_export_one(Reading& r, const GivenOption& g) {
  const std::size_t equals = g.value.find('=');
  // Ranks inherit the launcher's environment; naming a variable without a value asks for what happens anyway.
  if (equals == std::string::npos) {
    if (std::getenv(g.value.c_str()) == nullptr)
      r.out.notes.push_back(fmt::format("-x {} is ignored: there is no such variable here", g.value));
    return check_name(g.value);
  }
  r.out.environment.emplace_back(g.value.substr(0, equals), g.value.substr(equals + 1));
  return check_name(r.out.environment.back().first);
}

Result<void> on_genv(Reading& r, const GivenOption& g) {
  r.out.environment.emplace_back(g.value, g.second);
  return check_name(g.value);
}

Result<void> on_env(Reading& r, const GivenOption& g) {
  r.app.environment.emplace_back(g.value, g.second);
  return check_name(g.value);
}

Result<void> on_interface(Reading& r, const GivenOption& g) {
  r.out.environment.emplace_back("RMQ_TCP_INTERFACE", g.value);
  return {};
}

// ---- where ranks are ----

Result<void> on_hosts(Reading& r, const GivenOption& g) {
  return r.placing.take_hosts(parse_host_list(g.value), Placing::Source::list, g.word, g.value);
}

Result<void> on_hostfile(Reading& r, const GivenOption& g) {
  return r.placing.take_hosts(read_host_file(g.value, r.out.notes), Placing::Source::file, g.word, g.value);
}

Result<void> on_host_split(Reading& r, const GivenOption& g) {
  r.placing.pretend(g.value);
  return {};
}

Result<void> on_per_host(Reading& r, const GivenOption& g) {
  return r.placing.set_per_host(g.value, g.word);
}

Result<void> on_placing(Reading& r, const GivenOption& g) {
  return r.placing.map_by(g.value, g.word, r.out);
}

// --bind is ours; --bind-to is other launchers': MPICH's number of parts for each rank, and Open MPI's words for what
// is so here in any case.
Result<void> on_bind(Reading& r, const GivenOption& g) {
  const auto words = split(g.value, ':');
  r.out.binding.to = part_of(words[0]);
  r.out.binding.each = 1;
  for (const string_view more : std::span(words).subspan(1)) {
    if (const auto each = parse_count(more, max_ranks); each && r.out.binding.to)
      r.out.binding.each = *each;
    else if (more != "overload-allowed" && more != "if-supported")
      return wrong(fmt::format("{} {}: '{}' is no number of parts for each rank", g.word, g.value, more));
  }
  if (r.out.binding.to || words[0] == "none") return {};
  if (g.word.ends_with("bind"))
    return wrong(fmt::format("{} {}: hwthread, core, l3cache, numa, socket or none", g.word, g.value));
  r.out.notes.push_back(
      fmt::format("{} {} binds nothing; --bind hwthread, core, l3cache, numa or socket would", g.word, g.value));
  return {};
}

Result<void> on_report_bindings(Reading& r, const GivenOption&) {
  r.out.binding.report = true;
  return {};
}

// ---- other hosts ----

Result<void> on_launcher(Reading& r, const GivenOption& g) {
  if (g.value.find_first_not_of(' ') == std::string::npos) return wrong(fmt::format("{} needs a command", g.word));
  r.out.launcher = g.value;
  return {};
}

Result<void> on_fan_out(Reading& r, const GivenOption& g) {
  const auto count = parse_count(g.value, 1024);
  if (!count) return wrong(fmt::format("{} {}: not a number of agents", g.word, g.value));
  r.out.fan_out = *count;
  return {};
}

Result<void> on_host_timeout(Reading& r, const GivenOption& g) {
  const auto time = parse_seconds(g.value, g.word);
  if (!time) return tl::make_unexpected(time.error());
  if (!*time || **time < std::chrono::seconds(2))
    return wrong(fmt::format("{} {}: at least 2 s, for agents tell each second that they live", g.word, g.value));
  r.out.silence = **time;
  return {};
}

// ---- how messages go ----

Result<void> on_method(Reading& r, const GivenOption& g) {
  for (const string_view method : split(g.value, ','))
    if (std::ranges::find(methods::kTransports, method) == std::end(methods::kTransports))
      return wrong(fmt::format("--method {}: '{}' is not a method; there are {}, and lists of them", g.value, method,
                               fmt::join(methods::kTransports, ", ")));
  r.out.methods = g.value;
  return {};
}

// A word a line; '#' begins a comment. What the words mean the ranks know.
Result<void> on_coll(Reading& r, const GivenOption& g) {
  const auto text = read_file(g.value);
  if (!text) return wrong(fmt::format("{} {}: {}", g.word, g.value, text.error().what));
  std::istringstream file(*text);
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    std::erase_if(line, [](unsigned char c) { return std::isspace(c) != 0; });
    if (!line.empty()) r.out.coll += (r.out.coll.empty() ? "" : ",") + line;
  }
  return {};
}

Result<void> on_pmi(Reading& r, const GivenOption&) {
  r.out.pmi = true;
  return {};
}

// ---- input, output and records ----

Result<void> on_input(Reading& r, const GivenOption& g) {
  if (g.value != "0" && g.value != "none")
    return wrong(fmt::format("{} {}: standard input goes to rank 0, or to nobody (none)", g.word, g.value));
  r.out.takes_input = g.value == "0";
  return {};
}

Result<void> on_tag(Reading& r, const GivenOption&) {
  r.out.tag_output = true;
  return {};
}

Result<void> on_trace(Reading& r, const GivenOption& g) {
  std::error_code error;
  r.out.trace = std::filesystem::absolute(g.value, error);
  if (error)
    return wrong(fmt::format("{} {}: the working folder cannot be found: {}", g.word, g.value, error.message()));
  return {};
}

Result<void> on_trace_max(Reading& r, const GivenOption& g) {
  if (!config::parse_bytes(g.value))
    return wrong(fmt::format("{} {}: not a number of bytes, as 500M", g.word, g.value));
  r.out.trace_max = g.value;
  return {};
}

// ---- how the job ends ----

Result<void> on_timeout(Reading& r, const GivenOption& g) {
  const auto time = parse_seconds(g.value, g.word);
  if (!time) return tl::make_unexpected(time.error());
  r.timeout_given = true;
  r.out.timeout = *time;
  return {};
}

Result<void> on_hang_after(Reading& r, const GivenOption& g) {
  const auto time = parse_seconds(g.value, g.word);
  if (!time) return tl::make_unexpected(time.error());
  r.out.hang_after = *time;
  return {};
}

Result<void> on_hang_abort(Reading& r, const GivenOption&) {
  r.out.hang_abort = true;
  return {};
}

Result<void> on_ft(Reading& r, const GivenOption&) {
  r.out.ft = true;
  return {};
}

// ---- instead of a job ----

Result<void> on_help(Reading& r, const GivenOption&) {
  r.out.action = Options::Action::help;
  return {};
}

Result<void> on_version(Reading& r, const GivenOption&) {
  r.out.action = Options::Action::version;
  return {};
}

}  // namespace rmq::launch
