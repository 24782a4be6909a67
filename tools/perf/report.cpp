// SPDX-License-Identifier: BSD-3-Clause
// The figures as a table for people and as JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/perf/plan.hpp"

namespace rmq::perf {
namespace {

// How RMQ compares with the better peer: above 1 is better, whatever the unit; and of how many pairs of how many
// rounds.
std::string advantage(const Turns& turns, const std::vector<Implementation>& all) {
  std::string text = "-";
  double least = 0;
  for (const Implementation& one : all) {
    const auto pairs = turns.advantages("rmq", one.name);
    if (!one.is_peer() || pairs.empty()) continue;
    const double typical = median(pairs);
    if (text != "-" && typical >= least) continue;
    least = typical;
    text = fmt::format("{:.2f}x {}/{}", typical, pairs.size(), turns.rounds_of("rmq"));
  }
  return text;
}

}  // namespace

std::string table_head(const std::vector<Implementation>& all) {
  std::string text = fmt::format("{:<4} {:>5}  {:<13} {:>9} {:>5}", "over", "ranks", "metric", "size", "unit");
  for (const Implementation& one : all) text += fmt::format(" {:>24}", one.name);
  return text + fmt::format(" {:>11}\n", "rmq is");
}

std::string table_line(const Row& row, const Turns& turns, const std::vector<Implementation>& all) {
  std::string text = fmt::format("{:<4} {:>5}  {:<13} {:>9} {:>5}", row.transport, row.ranks, row.metric, row.size,
                                 unit_of(row.metric));
  for (const Implementation& one : all) text += fmt::format(" {:>24}", cell(turns, one.name));
  return text + fmt::format(" {:>11}\n", advantage(turns, all));
}

std::string table_foot() {
  return "Median (least-most) of runs in turn in the machine's fastest phase, as probes right before and after each "
         "run tell.\n"
         "'rmq is': how many times better than the better peer at its best setting (above 1 is faster, or smaller): "
         "the median\n"
         "of pairs of runs in one phase, of so many pairs / rounds. Buffers are reused: below a few MB they lie in the "
         "cache.\n"
         "For match, size counts receives posted in vain.\n";
}

std::string json(const Table& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [row, turns] : table) {
    for (const std::string& impl : turns.names()) {
      const auto values = turns.values(impl);
      rows.push_back({{"metric", row.metric},
                      {"size", row.size},
                      {"ranks", row.ranks},
                      {"transport", row.transport},
                      {"impl", impl},
                      {"unit", unit_of(row.metric)},
                      {"better", higher_is_better(row.metric) ? "higher" : "lower"},
                      {"median", median(values)},
                      {"min", *std::min_element(values.begin(), values.end())},
                      {"max", *std::max_element(values.begin(), values.end())},
                      {"rounds", turns.rounds_of(impl)}});
      if (impl == "rmq") continue;
      const auto pairs = turns.advantages("rmq", impl);
      rows.back()["pairs"] = pairs.size();
      if (!pairs.empty()) rows.back()["rmq_is_better"] = median(pairs);
    }
  }
  return rows.dump(1) + "\n";
}

}  // namespace rmq::perf
