// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/config.hpp"

namespace rmq::mpi::coll {
namespace {

using config::bytes_text;

constexpr std::uint64_t K = 1024, M = 1024 * K;

constexpr Rule kTable[] = {
#define RMQ_RULE(collective, algorithm, conditions) Rule{Collective::collective, Algorithm::algorithm} conditions,
#include "engine/coll/choice.def"
#undef RMQ_RULE
};

constexpr std::string_view kCollectives[] = {"barrier", "bcast",     "reduce",   "allreduce",     "gather",
                                             "scatter", "allgather", "alltoall", "reduce_scatter"};
constexpr std::string_view kAlgorithms[] = {"dissemination", "tree",     "flat",    "binomial", "linear", "scatter",
                                            "chain",         "doubling", "halving", "ring",     "bruck",  "pairwise",
                                            "batch",         "board",    "hosts",   "trees"};
static_assert(std::size(kCollectives) == kEachCollective.size() && std::size(kAlgorithms) == kEachAlgorithm.size());

template <class Number>
struct Range {
  Number least, most;
};

/// "8k", "8k-64k", "8k-".
template <class Number>
std::optional<Range<Number>> parse_range(std::string_view text) {
  constexpr Number kMost = std::numeric_limits<Number>::max();
  const auto number = [](std::string_view word) -> std::optional<Number> {
    const auto n = config::parse_bytes(word);
    return n && *n <= static_cast<std::uint64_t>(kMost) ? std::optional(static_cast<Number>(*n)) : std::nullopt;
  };
  const std::size_t dash = text.find('-');
  const auto least = number(text.substr(0, dash));
  if (!least) return std::nullopt;
  if (dash == std::string_view::npos) return Range<Number>{*least, *least};
  const auto most = dash + 1 == text.size() ? std::optional(kMost) : number(text.substr(dash + 1));
  if (!most || *most < *least) return std::nullopt;
  return Range<Number>{*least, *most};
}

template <class Enum, class Names>
std::optional<Enum> find_named(const Names& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == std::end(names)) return std::nullopt;
  return static_cast<Enum>(at - std::begin(names));
}

/// One word of RMQ_COLL.
std::optional<Rule> parse_rule(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto algorithm = find_named<Algorithm>(kAlgorithms, word.substr(equals + 1));
  std::string_view left = word.substr(0, equals);
  std::optional<Range<int>> ranks;
  if (const std::size_t at = left.find('@'); at != std::string_view::npos) {
    if (!(ranks = parse_range<int>(left.substr(at + 1)))) return std::nullopt;
    left = left.substr(0, at);
  }
  std::optional<Range<std::uint64_t>> bytes;
  if (const std::size_t at = left.find(':'); at != std::string_view::npos) {
    if (!(bytes = parse_range<std::uint64_t>(left.substr(at + 1)))) return std::nullopt;
    left = left.substr(0, at);
  }
  const auto what = find_named<Collective>(kCollectives, left);
  if (!what || !algorithm || !(algorithms_of(*what) & set_of(*algorithm))) return std::nullopt;
  Rule rule{*what, *algorithm};
  if (ranks) rule = rule.ranks(ranks->least, ranks->most);
  if (bytes) rule = rule.bytes(bytes->least, bytes->most);
  return rule;
}

}  // namespace

std::string_view name_of(Collective c) {
  return kCollectives[static_cast<std::size_t>(c)];
}

std::string_view name_of(Algorithm a) {
  return kAlgorithms[static_cast<std::size_t>(a)];
}

std::span<const Rule> table() {
  return kTable;
}

Set algorithms_of(Collective c) {
  Set set = 0;
  for (const Rule& r : kTable)
    if (r.what == c) set |= set_of(r.algorithm);
  return set;
}

std::string Rule::text() const {
  std::string out;
  const auto add = [&out](const std::string& s) { out += (out.empty() ? "" : ", ") + s; };
  if (is_crowded != If::any) add(is_crowded == If::yes ? "ranks outnumber CPUs" : "a CPU for each rank");
  if (is_together != If::any) add(is_together == If::yes ? "one host's memory" : "several hosts, or no shared memory");
  if (ranks_most == std::numeric_limits<int>::max()) {
    if (ranks_least > 1) add(fmt::format("{} ranks or more", ranks_least));
  } else if (ranks_least == ranks_most) {
    add(fmt::format("{} ranks", ranks_least));
  } else {
    add(fmt::format("{}-{} ranks", ranks_least, ranks_most));
  }
  if (is_power != If::any) add(is_power == If::yes ? "a power of two" : "no power of two");
  if (bytes_least > 0 && bytes_most != std::numeric_limits<std::uint64_t>::max()) {
    add(fmt::format("{} to {}", bytes_text(bytes_least), bytes_text(bytes_most)));
  } else if (bytes_most != std::numeric_limits<std::uint64_t>::max()) {
    add(fmt::format("up to {}", bytes_text(bytes_most)));
  } else if (bytes_least > 0) {
    add(bytes_least % K == 1 ? fmt::format("beyond {}", bytes_text(bytes_least - 1))
                             : fmt::format("from {} on", bytes_text(bytes_least)));
  }
  if (a_rank_least > 0) add(fmt::format("{} a rank or more", bytes_text(a_rank_least)));
  if (total_most != std::numeric_limits<std::uint64_t>::max())
    add(fmt::format("{} of all ranks or less", bytes_text(total_most)));
  return out.empty() ? "always" : out;
}

Result<Choice> Choice::parse(std::string_view list) {
  Choice choice;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const auto rule = parse_rule(word);
    if (!rule)
      return fail(Errc::config,
                  fmt::format("RMQ_COLL has '{}'; a word is <collective>[:<bytes>][@<ranks>]=<algorithm>, as "
                              "in barrier=tree,allreduce:1k-64k@8-=ring (rmqinfo coll lists them)",
                              word));
    choice.force(*rule);
  }
  return choice;
}

Algorithm Choice::choose(const Case& c, Set possible) const {
  const auto fits = [&](const Rule& r) { return (possible & set_of(r.algorithm)) != 0 && r.holds(c); };
  for (const Rule& r : forced_)
    if (fits(r)) return r.algorithm;
  const auto at = std::ranges::find_if(kTable, fits);
  RMQ_CHECK(at != std::end(kTable));
  return at->algorithm;
}

}  // namespace rmq::mpi::coll
