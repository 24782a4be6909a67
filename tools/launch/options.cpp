#include "tools/launch/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/config.hpp"
#include "base/process_sets.hpp"

namespace rmq::launch {

namespace {

using std::string_view;

constexpr int max_ranks = 1 << 20;

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

tl::unexpected<Error> wrong(std::string what) {
  return fail(Errc::argument, std::move(what));
}

std::optional<int> parse_count(string_view text, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > high) return std::nullopt;
  return value;
}

std::vector<string_view> split(string_view text, char separator) {
  std::vector<string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

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
        split_ = value;
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
        out_.trace = std::filesystem::absolute(value);
        return {};
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
      case Verb::per_host: {
        per_host_ = parse_count(value, max_ranks);
        if (!per_host_) return wrong(fmt::format("{} {}: not a number of ranks", word, value));
        per_host_word_ = word;
        return {};
      }
      case Verb::placing:
        return set_placing(value, word);
      case Verb::foreign:
        out_.notes.push_back(fmt::format("{}{}{}{}{} is ignored: it means nothing to RMQ", word,
                                         value.empty() ? "" : " ", value, second.empty() ? "" : " ", second));
        return {};
      case Verb::hosts:
        return take_hosts(parse_host_list(value), word, value);
      case Verb::hostfile:
        return take_hosts(read_host_file(value), word, value);
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

  // "slot" fills one host after the other, "node" deals ranks out in turn, "ppr:N:node" places N on each host.
  Result<void> set_placing(const std::string& value, string_view word) {
    const bool ranks_by = word.ends_with("rank-by");
    if (value == "node" && !ranks_by) {
      in_turn_ = true;
      placing_word_ = fmt::format("{} {}", word, value);
      return {};
    }
    if (value.starts_with("ppr:")) {
      const auto parts = split(value, ':');
      const auto count = parts.size() == 3 && parts[2] == "node" ? parse_count(parts[1], max_ranks) : std::nullopt;
      if (count) {
        per_host_ = count;
        per_host_word_ = fmt::format("{} {}", word, value);
        counts_ranks_here_ = false;
        return {};
      }
    } else if (!ranks_by && value == "slot") {
      return {};
    } else if (const auto part = part_of(value); part && !ranks_by) {
      out_.binding.spread = part;
      placing_word_ = fmt::format("{} {}", word, value);
      return {};
    }
    out_.notes.push_back(fmt::format("{} {} changes nothing: ranks of a host are placed in their order", word, value));
    return {};
  }

  Result<void> take_hosts(Result<HostList> list, string_view word, const std::string& value) {
    if (!list) return wrong(fmt::format("{} {}: {}", word, value, list.error().what));
    for (HostSlots& host : *list) add_host(hosts_, std::move(host));
    hosts_word_ = fmt::format("{} {}", word, value);
    return {};
  }

  Result<void> finish() {
    if (defaults_.timeout != nullptr && !timeout_given_)
      if (auto good = set_timeout(defaults_.timeout, "MPIEXEC_TIMEOUT"); !good) return good;
    if (auto good = find_allocation(); !good) return good;
    if (auto good = count_ranks(); !good) return good;
    const int size = out_.size();
    if (size > max_ranks) return wrong(fmt::format("{} ranks in all; at most {} are possible", size, max_ranks));
    if (out_.hang_abort && !out_.hang_after) return wrong("--hang-abort needs --hang-after SECONDS");
    if (out_.binding.spread && !out_.binding.to)
      out_.notes.push_back(fmt::format("{} changes nothing without --bind", placing_word_));
    if (auto good = finish_sets(size); !good) return good;
    if (out_.pmi && (!out_.methods.empty() || !out_.trace.empty() || !out_.coll.empty() || out_.hang_after))
      return wrong(
          "--pmi runs programs of another MPI, for which --method, --trace, --coll and --hang-after mean nothing");
    if (!hosts_.empty()) return place_on_hosts(size);
    if (per_host_ && *per_host_ < size)
      out_.notes.push_back(
          fmt::format("{} {} changes nothing: all {} ranks run on this machine", per_host_word_, *per_host_, size));
    if (in_turn_ && split_.empty())
      out_.notes.push_back(fmt::format("{} changes nothing: all ranks run on this machine", placing_word_));
    if (split_.empty()) {
      out_.host_of_rank.assign(static_cast<std::size_t>(size), 0);
      return {};
    }
    int host = 0;
    for (const string_view part : split(split_, ',')) {
      const auto count = parse_count(part, max_ranks);
      if (!count) return wrong(fmt::format("--host-split {}: '{}' is not a number of ranks", split_, part));
      out_.host_of_rank.insert(out_.host_of_rank.end(), static_cast<std::size_t>(*count), host++);
    }
    if (out_.host_of_rank.size() != static_cast<std::size_t>(size))
      return wrong(fmt::format("--host-split {} places {} ranks, but there are {}; the parts must add up to -n", split_,
                               out_.host_of_rank.size(), size));
    return {};
  }

  Result<void> place_on_hosts(int size) {
    if (!split_.empty()) return wrong(fmt::format("--host-split pretends hosts, and {} names real ones", hosts_word_));
    if (out_.ft || out_.pmi)
      return wrong(fmt::format("{} is for jobs on one machine (--host-split pretends hosts), and {} names others",
                               out_.ft ? "--ft" : "--pmi", hosts_word_));
    if (per_host_)
      for (HostSlots& host : hosts_) host.slots = *per_host_;
    out_.host_of_rank = place_ranks(hosts_, size, in_turn_);
    if (out_.universe_size == 0)
      for (const HostSlots& host : hosts_) out_.universe_size += std::min(host.slots, max_ranks - out_.universe_size);
    out_.universe = hosts_;
    // Hosts without a rank need no agent, until something is spawned there.
    const int used = 1 + *std::max_element(out_.host_of_rank.begin(), out_.host_of_rank.end());
    for (int host = 0; host < used; ++host) out_.hosts.push_back(hosts_[static_cast<std::size_t>(host)].name);
    return {};
  }

  // Of several nodes: their names, unless the command line has its own, or wants them all here.
  Result<void> find_allocation() {
    if (!hosts_.empty() || !split_.empty()) return {};
    Result<HostList> list = HostList{};
    if (defaults_.slurm_list != nullptr && defaults_.slurm_nodes != nullptr &&
        string_view(defaults_.slurm_nodes) != "1") {
      list = read_slurm(defaults_.slurm_list, defaults_.slurm_per_node == nullptr ? "" : defaults_.slurm_per_node);
      hosts_word_ = "the Slurm allocation";
    } else if (defaults_.pbs_file != nullptr) {
      list = read_host_file(defaults_.pbs_file);
      hosts_word_ = "PBS_NODEFILE";
    }
    if (!list) return wrong(fmt::format("{}: {}", hosts_word_, list.error().what));
    hosts_ = *std::move(list);
    if (out_.launcher.empty() && defaults_.slurm_list != nullptr && !hosts_.empty())
      out_.launcher = "srun --nodes=1 --ntasks=1 --overlap --unbuffered --nodelist={}";
    return {};
  }

  // Of one program without -n: what other launchers take from the environment, or from the number for each host.
  Result<void> count_ranks() {
    App& app = out_.apps.front();
    if (out_.apps.size() > 1 || app.ranks_given) return {};
    if (!hosts_.empty()) {
      std::size_t ranks = 0;
      for (const HostSlots& host : hosts_) ranks += static_cast<std::size_t>(per_host_.value_or(host.slots));
      app.ranks = static_cast<int>(std::min<std::size_t>(ranks, max_ranks + 1));
      return {};
    }
    if (per_host_ && !counts_ranks_here_)
      return wrong(fmt::format("{} does not say how many ranks to start here; add -n N", per_host_word_));
    if (per_host_) {
      app.ranks = *per_host_;
      return {};
    }
    if (!split_.empty() || defaults_.slurm_tasks == nullptr) return {};
    const auto tasks = parse_count(defaults_.slurm_tasks, max_ranks);
    if (!tasks) return {};
    if (defaults_.slurm_nodes != nullptr && string_view(defaults_.slurm_nodes) != "1")
      return wrong(fmt::format(
          "this is a Slurm allocation of {} nodes, but SLURM_JOB_NODELIST, which would name them, is not set; "
          "name them with --hosts, or say with -n N how many ranks are to run here",
          defaults_.slurm_nodes));
    app.ranks = *tasks;
    if (*tasks > 1)
      out_.notes.push_back(fmt::format("starts {} ranks, as SLURM_NTASKS says (-n N: N of them)", *tasks));
    return {};
  }

  std::span<const char* const> arguments_;
  const Defaults defaults_;
  std::size_t position_ = 0;
  Options out_;
  App app_;
  std::string split_;
  bool timeout_given_ = false;
  std::optional<int> per_host_;    // -ppn
  std::string per_host_word_;      // as it was written
  bool counts_ranks_here_ = true;  // without -n, as -ppn does and ppr:N:node does not
  bool in_turn_ = false;           // --map-by node
  std::string placing_word_;       // as it was written
  HostList hosts_;                 // of all options that name some
  std::string hosts_word_;         // the last of them, as it was written
};

}  // namespace

int Options::size() const {
  int ranks = 0;
  for (const App& app : apps) ranks += std::min(app.ranks, max_ranks);
  return ranks;
}

Defaults Defaults::of_environment() {
  return {std::getenv("MPIEXEC_TIMEOUT"),    std::getenv("SLURM_NTASKS"),         std::getenv("SLURM_JOB_NUM_NODES"),
          std::getenv("SLURM_JOB_NODELIST"), std::getenv("SLURM_TASKS_PER_NODE"), std::getenv("PBS_NODEFILE")};
}

Result<Options> parse_options(std::span<const char* const> arguments, const Defaults& defaults) {
  return Parser(arguments, defaults).parse();
}

std::string help_text() {
  return "Usage: rmqrun [options] program [arguments] [ : [options] program [arguments] ] ...\n"
         "Starts an MPI program on this machine, or on those that are named or allocated.\n"
         "\n"
         "  -n, -np, -c N          ranks of this program (1; with hosts or in an allocation: one for each slot)\n"
         "  --hosts A:2,B:2        where: names, and how many ranks are for each (1); also --host, -H\n"
         "  --hostfile FILE        the same, a line each: A:2, A slots=2, or A twice; also -f, --machinefile\n"
         "  -ppn N                 so many on each host; also --map-by ppr:N:node\n"
         "  --map-by slot|node     fill one host after the other (slot), or deal ranks out in turn\n"
         "  --launcher COMMAND     what runs a command on another host: its words, then the host (or where {} stands), "
         "then the\n"
         "                         command (ssh; srun in a Slurm allocation). It must pass standard input and output\n"
         "  --host-timeout SECONDS a host that is silent for so long is lost (10); --fan-out N: agents that one starts "
         "(32)\n"
         "  --method LIST          shm, tcp or shm,tcp (default: shm inside a host, tcp between hosts)\n"
         "  --host-split A,B,...   pretend hosts: the first A ranks on one, the next B on another, ...\n"
         "  -x VAR[=VALUE]         set a variable for all ranks; also -genv VAR VALUE, and -env VAR VALUE for this "
         "program\n"
         "                         (all other variables reach all ranks as well, named by -genvlist or not)\n"
         "  --wdir DIR             working folder of this program\n"
         "  -l, --tag-output       put [rank] before each line of output\n"
         "  --bind PART            bind each rank to one, in turn: hwthread, core, l3cache, numa, socket (none)\n"
         "  --map-by PART          with --bind: neighbours to different ones; --report-bindings: say where each rank "
         "is\n"
         "  --timeout SECONDS      end the job after this time with exit code 124; also MPIEXEC_TIMEOUT\n"
         "  --hang-after SECONDS   say who waits for whom when all ranks wait and nothing has moved for so long\n"
         "  --hang-abort           and end the job with exit code 125\n"
         "  --ft                   the job goes on when a rank dies; its program deals with that (MPIX_Comm_shrink …)\n"
         "  --trace DIR            write each rank's events to DIR, for rmqtrace\n"
         "  --coll FILE            which algorithms collectives take, as rmqperf tune has found them: RMQ_COLL, a word "
         "a line\n"
         "  --pset NAME=RANKS      a process set for MPI's sessions, as ocean=0-3,7; without =RANKS: the ranks of this "
         "program\n"
         "  --trace-max BYTES      of each rank's file there at most, as 500M; later events are counted, not kept\n"
         "  --usize N              MPI_UNIVERSE_SIZE\n"
         "  --pmi                  the program is of another MPI that speaks PMI-1 (MPICH and its kin), and keeps that "
         "library\n"
         "  -h, --help; --version\n"
         "\n"
         "Standard input goes to rank 0, signals to all ranks. When a rank dies, the others are ended, and the exit "
         "code is\n"
         "the rank's own, or 128 + the number of the signal that killed it. A program that cannot be started: 127.\n"
         "SIGQUIT (Ctrl-\\) is kept from the ranks: it prints what each of them is doing, and the job goes on, as does "
         "'rmqps JOB'.\n";
}

}  // namespace rmq::launch
