#include "tools/launch/options.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/config.hpp"
#include "methods/method.hpp"
#include "start/process_sets.hpp"
#include "tools/launch/option_table.hpp"
#include "tools/launch/placing.hpp"
#include "tools/launch/soft.hpp"
#include "tools/launch/words.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

namespace {

using std::string_view;

class Parser {
 public:
  Parser(std::span<const char* const> arguments, const Defaults& defaults)
      : arguments_(arguments.begin(), arguments.end()), defaults_(defaults) {}

  Result<Options> parse() {
    while (position_ < arguments_.size()) {
      if (auto section = parse_section(); !section) return tl::make_unexpected(section.error());
      if (out_.action != Options::Action::run) return std::move(out_);
    }
    if (out_.apps.empty()) return wrong("no program given; see rmqrun --help");
    if (arguments_.back() == ":") return wrong("no program after the last ':'");
    if (auto good = finish(); !good) return tl::make_unexpected(good.error());
    return std::move(out_);
  }

 private:
  // Options, program and arguments up to ':' or the end.
  Result<void> parse_section() {
    app_ = App{};
    while (position_ < arguments_.size()) {
      const std::string word = arguments_[position_];  // which may name a file that takes the place of all
      if (word == "--") {
        ++position_;
        break;
      }
      if (word.size() < 2 || word[0] != '-') break;
      ++position_;
      if (auto good = parse_option(word); !good || out_.action != Options::Action::run) return good;
    }
    while (position_ < arguments_.size() && arguments_[position_] != ":")
      app_.command.emplace_back(arguments_[position_++]);
    if (position_ < arguments_.size()) ++position_;  // the ':'
    if (app_.command.empty()) return wrong("no program given; see rmqrun --help");
    if (!app_.soft.empty()) {
      const auto count = soft_count(app_.soft, app_.ranks);
      if (!count) return wrong(fmt::format("-soft {}: {}", app_.soft, count.error().what));
      if (*count == 0) return wrong(fmt::format("-soft {}: comes to no process at all", app_.soft));
      app_.ranks = *count;
    }
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
    const auto options = known_options();
    const auto option = std::ranges::find(options, name, &KnownOption::name);
    if (option == options.end()) return wrong(fmt::format("unknown option {}; see rmqrun --help", word));
    if (joined && option->values != 1) return wrong(fmt::format("option {} cannot be written with '='", word));
    std::string values[2];
    for (int i = 0; i < option->values; ++i) {
      if (!joined && position_ == arguments_.size())
        return wrong(fmt::format("option {} needs {} value(s)", word, option->values));
      values[i] = joined ? *joined : arguments_[position_++];
    }
    if (option->verb == Verb::foreign) return note_foreign(*option, word, values[0], values[1]);
    if (option->verb == Verb::refused) return wrong(fmt::format("{} is not supported: {}", word, option->text));
    if (option->values == 0) values[0] = option->text;
    return apply(option->verb, word, values[0], values[1]);
  }

  Result<void> note_foreign(const KnownOption& option, string_view word, const std::string& value,
                            const std::string& second) {
    out_.notes.push_back(fmt::format("{}{}{}{}{} is ignored: {}", word, value.empty() ? "" : " ", value,
                                     second.empty() ? "" : " ", second,
                                     option.text.empty() ? "it means nothing to RMQ" : option.text));
    return {};
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
      case Verb::path:
        app_.path = value;
        return {};
      case Verb::arch:
        return check_arch(value, word);
      case Verb::soft:
        app_.soft = value;
        return {};
      case Verb::config_file:
        return read_config(value, word);
      case Verb::interface:
        out_.environment.emplace_back("RMQ_TCP_INTERFACE", value);
        return {};
      case Verb::input:
        if (value != "0" && value != "none")
          return wrong(fmt::format("{} {}: standard input goes to rank 0, or to nobody (none)", word, value));
        out_.takes_input = value == "0";
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
      case Verb::foreign:
      case Verb::refused:
        return {};
      case Verb::per_host:
        return placing_.set_per_host(value, word);
      case Verb::placing:
        return placing_.map_by(value, word, out_);
      case Verb::hosts:
        return placing_.take_hosts(parse_host_list(value), Placing::Source::list, word, value);
      case Verb::hostfile:
        return placing_.take_hosts(read_host_file(value, out_.notes), Placing::Source::file, word, value);
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
    if (error)
      return wrong(fmt::format("{} {}: the working folder cannot be found: {}", word, folder, error.message()));
    return {};
  }

  static Result<void> check_arch(const std::string& wanted, string_view word) {
    utsname machine{};
    ::uname(&machine);
    if (wanted != machine.machine)
      return wrong(fmt::format("{} {}: programs run on {} here", word, wanted, machine.machine));
    return {};
  }

  // The standard's -configfile: a line for each program, as between two ':' of a command line.
  Result<void> read_config(const std::string& path, string_view word) {
    if (position_ != arguments_.size() || arguments_.size() > 2)
      return wrong(fmt::format("{} {} stands alone: all options and programs are in the file", word, path));
    const auto text = read_file(path);
    if (!text) return wrong(fmt::format("{} {}: {}", word, path, text.error().what));
    std::istringstream file(*text);
    std::vector<std::string> all;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      const auto words = quoted_words(line);
      if (!words) return wrong(fmt::format("{} {}: line {}: a quotation mark has no end", word, path, number));
      if (words->empty()) continue;
      if (!all.empty()) all.emplace_back(":");
      all.insert(all.end(), words->begin(), words->end());
    }
    if (std::ranges::find(all, "-configfile") != all.end())
      return wrong(fmt::format("{} {}: a file cannot name another", word, path));
    arguments_ = std::move(all);
    position_ = 0;
    return {};
  }

  // Between blanks; '…' and "…" hold a word together, and a '#' where a word could begin is a comment.
  static std::optional<std::vector<std::string>> quoted_words(string_view line) {
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
    if (equals == std::string::npos) {
      if (std::getenv(text.c_str()) == nullptr)
        out_.notes.push_back(fmt::format("-x {} is ignored: there is no such variable here", text));
      return check_name(text);
    }
    out_.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    return check_name(out_.environment.back().first);
  }

  Result<void> set_methods(const std::string& text) {
    const auto known = methods::transport_names();
    for (const string_view method : split(text, ','))
      if (std::ranges::find(known, method) == known.end())
        return wrong(fmt::format("--method {}: '{}' is not a method; there are {}, and lists of them", text, method,
                                 fmt::join(known, ", ")));
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

  // --bind is ours; --bind-to is other launchers': MPICH's number of parts for each rank, and Open MPI's words for what
  // is so here in any case.
  Result<void> set_bind(const std::string& text, string_view word) {
    const auto words = split(text, ':');
    out_.binding.to = part_of(words[0]);
    out_.binding.each = 1;
    for (const string_view more : std::span(words).subspan(1)) {
      if (const auto each = parse_count(more, max_ranks); each && out_.binding.to)
        out_.binding.each = *each;
      else if (more != "overload-allowed" && more != "if-supported")
        return wrong(fmt::format("{} {}: '{}' is no number of parts for each rank", word, text, more));
    }
    if (out_.binding.to || words[0] == "none") return {};
    if (word.ends_with("bind"))
      return wrong(fmt::format("{} {}: hwthread, core, l3cache, numa, socket or none", word, text));
    out_.notes.push_back(
        fmt::format("{} {} binds nothing; --bind hwthread, core, l3cache, numa or socket would", word, text));
    return {};
  }

  // A word a line; '#' begins a comment. What the words mean the ranks know.
  Result<void> read_rules(const std::string& path, string_view word) {
    const auto text = read_file(path);
    if (!text) return wrong(fmt::format("{} {}: {}", word, path, text.error().what));
    std::istringstream file(*text);
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

  std::vector<std::string> arguments_;  // those of the command line, or of the file that it names
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
  return {std::getenv("MPIEXEC_TIMEOUT"),      std::getenv("SLURM_NTASKS"),
          std::getenv("SLURM_JOB_NUM_NODES"),  std::getenv("SLURM_JOB_NODELIST"),
          std::getenv("SLURM_TASKS_PER_NODE"), std::getenv("PBS_NODEFILE"),
          std::getenv("HYDRA_HOST_FILE"),      std::getenv("OMPI_MCA_orte_default_hostfile")};
}

Result<Options> parse_options(std::span<const char* const> arguments, const Defaults& defaults) {
  return Parser(arguments, defaults).parse();
}

}  // namespace rmq::launch
