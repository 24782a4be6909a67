#include "tools/launch/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/config.hpp"
#include "base/process_sets.hpp"
#include "tools/launch/placing.hpp"
#include "tools/launch/words.hpp"

namespace rmq::launch {

namespace {

using std::string_view;

// What an option does. Options of one meaning share a verb.
enum class Verb {
  ranks,
  split,
  method,
  export_one,
  env,
  genv,
  tag,
  timeout,
  trace,
  trace_max,
  coll,
  process_set,
  bind,
  folder,
  universe,
  hang_after,
  hang_abort,
  pmi,
  ft,
  help,
  version,
  ignore,
  per_host,
  placing,
  foreign,
  hosts,
  hostfile,
  launcher,
  fan_out,
  host_timeout,
  report_bindings
};

struct Known {
  string_view name;  // without dashes
  int values;        // arguments that follow
  Verb verb;
};

constexpr Known known[] = {
    {"n", 1, Verb::ranks},
    {"np", 1, Verb::ranks},
    {"c", 1, Verb::ranks},
    {"host-split", 1, Verb::split},
    {"method", 1, Verb::method},
    {"methods", 1, Verb::method},
    {"x", 1, Verb::export_one},
    {"env", 2, Verb::env},
    {"genv", 2, Verb::genv},
    {"l", 0, Verb::tag},
    {"tag-output", 0, Verb::tag},
    {"prepend-rank", 0, Verb::tag},
    {"timeout", 1, Verb::timeout},
    {"trace", 1, Verb::trace},
    {"trace-max", 1, Verb::trace_max},
    {"coll", 1, Verb::coll},
    {"pset", 1, Verb::process_set},
    {"bind", 1, Verb::bind},
    {"bind-to", 1, Verb::bind},
    {"wdir", 1, Verb::folder},
    {"wd", 1, Verb::folder},
    {"usize", 1, Verb::universe},
    {"hang-after", 1, Verb::hang_after},
    {"hang-abort", 0, Verb::hang_abort},
    {"pmi", 0, Verb::pmi},
    {"ft", 0, Verb::ft},
    {"disable-auto-cleanup", 0, Verb::ft},
    {"h", 0, Verb::help},
    {"help", 0, Verb::help},
    {"V", 0, Verb::version},
    {"version", 0, Verb::version},
    // Of MPICH's and Open MPI's mpiexec, and so here without them: all variables reach all ranks, for instance.
    {"oversubscribe", 0, Verb::ignore},
    {"allow-run-as-root", 0, Verb::ignore},
    {"envall", 0, Verb::ignore},
    {"genvall", 0, Verb::ignore},
    {"genvlist", 1, Verb::ignore},
    {"envlist", 1, Verb::ignore},
    {"q", 0, Verb::ignore},
    {"quiet", 0, Verb::ignore},
    // With nothing to do on one machine, or of a library that is not this one: scripts that pass them keep working, and
    // are told.
    {"report-bindings", 0, Verb::report_bindings},
    {"map-by", 1, Verb::placing},
    {"rank-by", 1, Verb::placing},
    {"ppn", 1, Verb::per_host},
    {"perhost", 1, Verb::per_host},
    {"npernode", 1, Verb::per_host},
    {"N", 1, Verb::per_host},
    {"mca", 2, Verb::foreign},
    {"launcher", 1, Verb::launcher},
    {"fan-out", 1, Verb::fan_out},
    {"host-timeout", 1, Verb::host_timeout},
    {"host", 1, Verb::hosts},
    {"hosts", 1, Verb::hosts},
    {"H", 1, Verb::hosts},
    {"f", 1, Verb::hostfile},
    {"hostfile", 1, Verb::hostfile},
    {"machinefile", 1, Verb::hostfile},
};

class Parser {
 public:
  Parser(std::span<const char* const> arguments, const Defaults& defaults)
      : arguments_(arguments), defaults_(defaults) {}

  Result<Options> parse() {
    while (position_ < arguments_.size()) {
      if (auto section = parse_section(); !section) return tl::make_unexpected(section.error());
      if (out_.action != Options::Action::run) return std::move(out_);
    }
    if (arguments_.empty()) return wrong("no program given; see rmqrun --help");
    if (string_view(arguments_.back()) == ":") return wrong("no program after the last ':'");
    if (auto good = finish(); !good) return tl::make_unexpected(good.error());
    return std::move(out_);
  }

 private:
  // Options, program and arguments up to ':' or the end.
  Result<void> parse_section() {
    app_ = App{};
    while (position_ < arguments_.size()) {
      const string_view word = arguments_[position_];
      if (word == "--") {
        ++position_;
        break;
      }
      if (word.size() < 2 || word[0] != '-') break;
      ++position_;
      if (auto good = parse_option(word); !good || out_.action != Options::Action::run) return good;
    }
    while (position_ < arguments_.size() && string_view(arguments_[position_]) != ":")
      app_.command.emplace_back(arguments_[position_++]);
    if (position_ < arguments_.size()) ++position_;  // the ':'
    if (app_.command.empty()) return wrong("no program given; see rmqrun --help");
    out_.apps.push_back(std::move(app_));
    placing_.end_section();
    return {};
  }

  Result<void> parse_option(string_view word) {
    const bool long_form = word.starts_with("--");
    string_view name = word.substr(long_form ? 2 : 1);
    std::optional<string_view> joined;
    if (const std::size_t equals = name.find('='); long_form && equals != string_view::npos) {
      joined = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const auto* option =
        std::find_if(std::begin(known), std::end(known), [&](const Known& k) { return k.name == name; });
    if (option == std::end(known)) return wrong(fmt::format("unknown option {}; see rmqrun --help", word));
    if (joined && option->values != 1) return wrong(fmt::format("option {} cannot be written with '='", word));
    std::string values[2];
    for (int i = 0; i < option->values; ++i) {
      if (!joined && position_ == arguments_.size())
        return wrong(fmt::format("option {} needs {} value(s)", word, option->values));
      values[i] = joined ? *joined : arguments_[position_++];
    }
    return apply(option->verb, word, values[0], values[1]);
  }

  Result<void> apply(Verb verb, string_view word, const std::string& value, const std::string& second) {
    switch (verb) {
      case Verb::ranks: {
        const auto ranks = parse_count(value, max_ranks);
        if (!ranks)
          return wrong(fmt::format("{} {}: the number of ranks must be from 1 to {}", word, value, max_ranks));
        app_.ranks = *ranks;
        app_.ranks_given = true;
        return {};
      }
      case Verb::split:
        placing_.pretend(value);
        return {};
      case Verb::method:
        return set_methods(value);
      case Verb::export_one:
        return set_export(value);
      case Verb::env:
        app_.environment.emplace_back(value, second);
        return check_name(value);
      case Verb::genv:
        out_.environment.emplace_back(value, second);
        return check_name(value);
      case Verb::tag:
        out_.tag_output = true;
        return {};
      case Verb::timeout:
        return set_timeout(value, word);
      case Verb::trace:
        return set_trace(value, word);
      case Verb::trace_max:
        if (!config::parse_bytes(value))
          return wrong(fmt::format("{} {}: not a number of bytes, as 500M", word, value));
        out_.trace_max = value;
        return {};
      case Verb::coll:
        return read_rules(value, word);
      case Verb::process_set:
        if (value.find('=') == std::string::npos) {
          app_.sets.push_back(value);
        } else {
          add_set(value);
        }
        return {};
      case Verb::bind:
        return set_bind(value, word);
      case Verb::folder:
        app_.folder = value;
        return {};
      case Verb::universe: {
        const auto size = parse_count(value, max_ranks);
        if (!size) return wrong(fmt::format("{} {}: not a number of ranks", word, value));
        out_.universe_size = *size;
        return {};
      }
      case Verb::hang_after: {
        auto time = seconds(value, word);
        if (!time) return tl::make_unexpected(time.error());
        out_.hang_after = *time;
        return {};
      }
      case Verb::hang_abort:
        out_.hang_abort = true;
        return {};
      case Verb::pmi:
        out_.pmi = true;
        return {};
      case Verb::ft:
        out_.ft = true;
        return {};
      case Verb::help:
        out_.action = Options::Action::help;
        return {};
      case Verb::version:
        out_.action = Options::Action::version;
        return {};
      case Verb::ignore:
        return {};
      case Verb::per_host:
        return placing_.set_per_host(value, word);
      case Verb::placing:
        return placing_.map_by(value, word, out_);
      case Verb::foreign:
        out_.notes.push_back(fmt::format("{}{}{}{}{} is ignored: it means nothing to RMQ", word,
                                         value.empty() ? "" : " ", value, second.empty() ? "" : " ", second));
        return {};
      case Verb::hosts:
        return placing_.take_hosts(parse_host_list(value), word, value);
      case Verb::hostfile:
        return placing_.take_hosts(read_host_file(value, out_.notes), word, value);
      case Verb::launcher:
        if (value.find_first_not_of(' ') == std::string::npos) return wrong(fmt::format("{} needs a command", word));
        out_.launcher = value;
        return {};
      case Verb::fan_out: {
        const auto count = parse_count(value, 1024);
        if (!count) return wrong(fmt::format("{} {}: not a number of agents", word, value));
        out_.fan_out = *count;
        return {};
      }
      case Verb::report_bindings:
        out_.binding.report = true;
        return {};
      case Verb::host_timeout: {
        const auto time = seconds(value, word);
        if (!time) return tl::make_unexpected(time.error());
        if (!*time || **time < std::chrono::seconds(2))
          return wrong(fmt::format("{} {}: at least 2 s, for agents tell each second that they live", word, value));
        out_.silence = **time;
        return {};
      }
    }
    return {};
  }

  Result<void> set_trace(const std::string& folder, string_view word) {
    std::error_code error;
    out_.trace = std::filesystem::absolute(folder, error);
    if (error) return wrong(fmt::format("{} {}: the working folder cannot be found: {}", word, folder, error.message()));
    return {};
  }

  void add_set(const std::string& set) { out_.sets += (out_.sets.empty() ? "" : ";") + set; }

  /// Those of sections, which have ranks only now, and a look at all.
  Result<void> finish_sets(int size) {
    int first = 0;
    for (const App& app : out_.apps) {
      for (const std::string& name : app.sets) add_set(fmt::format("{}={}-{}", name, first, first + app.ranks - 1));
      first += app.ranks;
    }
    if (auto sets = parse_process_sets(out_.sets, size); !sets) return wrong("--pset: " + sets.error().what);
    return {};
  }

  static Result<void> check_name(const std::string& name) {
    if (name.empty() || name.find('=') != std::string::npos)
      return wrong(fmt::format("'{}' is no name for an environment variable", name));
    return {};
  }

  Result<void> set_export(const std::string& text) {
    const std::size_t equals = text.find('=');
    // Ranks inherit the launcher's environment; naming a variable without a value asks for what happens anyway.
    if (equals == std::string::npos) return check_name(text);
    out_.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    return check_name(out_.environment.back().first);
  }

  Result<void> set_methods(const std::string& text) {
    for (const string_view method : split(text, ','))
      if (method != "shm" && method != "tcp")
        return wrong(fmt::format("--method {}: '{}' is not a method; there are shm, tcp and shm,tcp", text, method));
    out_.methods = text;
    return {};
  }

  /// Rounded up to a millisecond; nothing for zero and less.
  static Result<std::optional<std::chrono::milliseconds>> seconds(const std::string& text, string_view source) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(seconds) || seconds > 1e9)
      return wrong(fmt::format("{} {}: not a number of seconds", source, text));
    if (seconds <= 0) return std::nullopt;
    return std::chrono::milliseconds(static_cast<long long>(std::ceil(seconds * 1000)));
  }

  Result<void> set_timeout(const std::string& text, string_view source) {
    const auto time = seconds(text, source);
    if (!time) return tl::make_unexpected(time.error());
    timeout_given_ = true;
    out_.timeout = *time;
    return {};
  }

  // --bind is ours; --bind-to is other launchers', whose further words mean nothing here.
  Result<void> set_bind(const std::string& text, string_view word) {
    out_.binding.to = part_of(split(text, ':')[0]);
    if (out_.binding.to || text == "none") return {};
    if (word.ends_with("bind"))
      return wrong(fmt::format("{} {}: hwthread, core, l3cache, numa, socket or none", word, text));
    out_.notes.push_back(
        fmt::format("{} {} binds nothing; --bind hwthread, core, l3cache, numa or socket would", word, text));
    return {};
  }

  // A word a line; '#' begins a comment. What the words mean the ranks know.
  Result<void> read_rules(const std::string& path, string_view word) {
    std::ifstream file(path);
    if (!file) return wrong(fmt::format("{} {}: cannot be read: {}", word, path, std::strerror(errno)));
    for (std::string line; std::getline(file, line);) {
      line.erase(std::min(line.find('#'), line.size()));
      std::erase_if(line, [](unsigned char c) { return std::isspace(c) != 0; });
      if (!line.empty()) out_.coll += (out_.coll.empty() ? "" : ",") + line;
    }
    return {};
  }

  Result<void> finish() {
    if (defaults_.timeout != nullptr && !timeout_given_)
      if (auto good = set_timeout(defaults_.timeout, "MPIEXEC_TIMEOUT"); !good) return good;
    if (auto good = placing_.count_ranks(defaults_, out_); !good) return good;
    const int size = out_.size();
    if (size > max_ranks) return wrong(fmt::format("{} ranks in all; at most {} are possible", size, max_ranks));
    if (out_.hang_abort && !out_.hang_after) return wrong("--hang-abort needs --hang-after SECONDS");
    if (auto good = finish_sets(size); !good) return good;
    if (out_.pmi && (!out_.methods.empty() || !out_.trace.empty() || !out_.coll.empty() || out_.hang_after))
      return wrong(
          "--pmi runs programs of another MPI, for which --method, --trace, --coll and --hang-after mean nothing");
    return placing_.place(size, out_);
  }

  std::span<const char* const> arguments_;
  const Defaults defaults_;
  std::size_t position_ = 0;
  Options out_;
  App app_;
  bool timeout_given_ = false;
  Placing placing_;
};

}  // namespace

int Options::size() const {
  int ranks = 0;
  for (const App& app : apps) ranks = std::min(ranks + std::min(app.ranks, max_ranks + 1), max_ranks + 1);
  return ranks;
}

Defaults Defaults::of_environment() {
  return {std::getenv("MPIEXEC_TIMEOUT"),    std::getenv("SLURM_NTASKS"),         std::getenv("SLURM_JOB_NUM_NODES"),
          std::getenv("SLURM_JOB_NODELIST"), std::getenv("SLURM_TASKS_PER_NODE"), std::getenv("PBS_NODEFILE")};
}

Result<Options> parse_options(std::span<const char* const> arguments, const Defaults& defaults) {
  return Parser(arguments, defaults).parse();
}

}  // namespace rmq::launch
