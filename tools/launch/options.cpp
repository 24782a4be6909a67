// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "start/process_sets.hpp"
#include "tools/launch/option_table.hpp"
#include "tools/launch/option_verbs.hpp"
#include "tools/launch/soft.hpp"
#include "tools/launch/words.hpp"

namespace rmq::launch {

namespace {

using std::string_view;

class Parser {
 public:
  Parser(std::span<const char* const> arguments, const Defaults& defaults) : defaults_(defaults) {
    r_.arguments.assign(arguments.begin(), arguments.end());
  }

  Result<Options> parse() {
    while (r_.position < r_.arguments.size()) {
      if (auto section = parse_section(); !section) return tl::make_unexpected(section.error());
      if (r_.out.action != Options::Action::run) return std::move(r_.out);
    }
    if (r_.out.apps.empty()) return wrong("no program given; see rmqrun --help");
    if (r_.arguments.back() == ":") return wrong("no program after the last ':'");
    if (auto good = finish(); !good) return tl::make_unexpected(good.error());
    return std::move(r_.out);
  }

 private:
  // Options, program and arguments up to ':' or the end.
  Result<void> parse_section() {
    r_.app = App{};
    while (r_.position < r_.arguments.size()) {
      const std::string word = r_.arguments[r_.position];  // which may name a file that takes the place of all
      if (word == "--") {
        ++r_.position;
        break;
      }
      if (word.size() < 2 || word[0] != '-') break;
      ++r_.position;
      if (auto good = parse_option(word); !good || r_.out.action != Options::Action::run) return good;
    }
    while (r_.position < r_.arguments.size() && r_.arguments[r_.position] != ":")
      r_.app.command.emplace_back(r_.arguments[r_.position++]);
    if (r_.position < r_.arguments.size()) ++r_.position;  // the ':'
    if (r_.app.command.empty()) return wrong("no program given; see rmqrun --help");
    if (!r_.app.soft.empty()) {
      const auto count = soft_count(r_.app.soft, r_.app.ranks);
      if (!count) return wrong(fmt::format("-soft {}: {}", r_.app.soft, count.error().what));
      if (*count == 0) return wrong(fmt::format("-soft {}: comes to no process at all", r_.app.soft));
      r_.app.ranks = *count;
    }
    r_.out.apps.push_back(std::move(r_.app));
    r_.placing.end_section();
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
    GivenOption given{word, {}, {}};
    for (int i = 0; i < option->values; ++i) {
      if (!joined && r_.position == r_.arguments.size())
        return wrong(fmt::format("option {} needs {} value(s)", word, option->values));
      (i == 0 ? given.value : given.second) = joined ? *joined : r_.arguments[r_.position++];
    }
    switch (option->sort) {
      case KnownOption::Sort::ignored:
        return {};
      case KnownOption::Sort::foreign:
        return note_foreign(*option, given);
      case KnownOption::Sort::refused:
        return wrong(fmt::format("{} is not supported: {}", word, option->text));
      case KnownOption::Sort::own:
        break;
    }
    if (option->values == 0) given.value = option->text;
    return option->apply(r_, given);
  }

  Result<void> note_foreign(const KnownOption& option, const GivenOption& given) {
    r_.out.notes.push_back(fmt::format("{}{}{}{}{} is ignored: {}", given.word, given.value.empty() ? "" : " ",
                                       given.value, given.second.empty() ? "" : " ", given.second,
                                       option.text.empty() ? "it means nothing to RMQ" : option.text));
    return {};
  }

  /// Those of sections, which have ranks only now, and a look at all.
  Result<void> finish_sets(int size) {
    int first = 0;
    for (const App& app : r_.out.apps) {
      for (const std::string& name : app.sets)
        add_set(r_.out, fmt::format("{}={}-{}", name, first, first + app.ranks - 1));
      first += app.ranks;
    }
    if (auto sets = parse_process_sets(r_.out.sets, size); !sets) return wrong("--pset: " + sets.error().what);
    return {};
  }

  Result<void> finish() {
    if (defaults_.timeout != nullptr && !r_.timeout_given)
      if (auto good = on_timeout(r_, {"MPIEXEC_TIMEOUT", defaults_.timeout, {}}); !good) return good;
    if (auto good = r_.placing.count_ranks(defaults_, r_.out); !good) return good;
    const int size = r_.out.size();
    if (size > max_ranks) return wrong(fmt::format("{} ranks in all; at most {} are possible", size, max_ranks));
    if (r_.out.hang_abort && !r_.out.hang_after) return wrong("--hang-abort needs --hang-after SECONDS");
    if (auto good = finish_sets(size); !good) return good;
    if (r_.out.pmi && (!r_.out.methods.empty() || !r_.out.trace.empty() || !r_.out.coll.empty() || r_.out.hang_after))
      return wrong(
          "--pmi runs programs of another MPI, for which --method, --trace, --coll and --hang-after mean nothing");
    return r_.placing.place(size, r_.out);
  }

  const Defaults defaults_;
  Reading r_;
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
