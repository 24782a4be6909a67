// The figures as a table for people and as JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/perf/plan.hpp"

namespace rmq::perf {
namespace {

// How RMQ compares with the better peer: above 1 is better, whatever the unit.
std::string advantage(const Row& row, const std::map<std::string, std::vector<double>>& by_impl,
                      const std::vector<Implementation>& all) {
  const bool higher = higher_is_better(row.metric);
  const auto ours = by_impl.find("rmq");
  std::vector<double> peers;
  for (const Implementation& one : all) {
    if (!one.is_peer()) continue;
    if (const auto found = by_impl.find(one.name); found != by_impl.end()) peers.push_back(median(found->second));
  }
  if (ours == by_impl.end() || peers.empty()) return "-";
  const double best =
      higher ? *std::max_element(peers.begin(), peers.end()) : *std::min_element(peers.begin(), peers.end());
  const double mine = median(ours->second);
  if (best <= 0 || mine <= 0) return "-";
  return fmt::format("{:.2f}x", higher ? mine / best : best / mine);
}

}  // namespace

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

std::string cell(const std::map<std::string, std::vector<double>>& by_impl, const std::string& impl) {
  const auto found = by_impl.find(impl);
  if (found == by_impl.end()) return "-";
  const auto [least, most] = std::ranges::minmax(found->second);
  return fmt::format("{:.3g} ({:.3g}-{:.3g})", median(found->second), least, most);
}

std::string table(const Samples& samples, const std::vector<Implementation>& all) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<4} {:>5}  {:<13} {:>9} {:>5}", "over", "ranks", "metric", "size", "unit");
  for (const Implementation& one : all) fmt::format_to(out, " {:>24}", one.name);
  fmt::format_to(out, " {:>8}\n", "rmq is");
  for (const auto& [row, by_impl] : samples) {
    fmt::format_to(out, "{:<4} {:>5}  {:<13} {:>9} {:>5}", row.transport, row.ranks, row.metric, row.size,
                   unit_of(row.metric));
    for (const Implementation& one : all) fmt::format_to(out, " {:>24}", cell(by_impl, one.name));
    fmt::format_to(out, " {:>8}\n", advantage(row, by_impl, all));
  }
  text +=
      "Median (least-most) of runs in turn, those of the machine's slow phases repeated. 'rmq is':\n"
      "how many times better than the better peer at its best setting (above 1 is faster, or smaller). Buffers are "
      "reused: below a\n"
      "few MB they lie in the cache. For match, size counts receives posted in vain.\n";
  return text;
}

std::string json(const Samples& samples) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [row, by_impl] : samples) {
    for (const auto& [impl, values] : by_impl) {
      rows.push_back({{"metric", row.metric},
                      {"size", row.size},
                      {"ranks", row.ranks},
                      {"transport", row.transport},
                      {"impl", impl},
                      {"unit", unit_of(row.metric)},
                      {"better", higher_is_better(row.metric) ? "higher" : "lower"},
                      {"median", median(values)},
                      {"min", *std::min_element(values.begin(), values.end())},
                      {"max", *std::max_element(values.begin(), values.end())}});
    }
  }
  return rows.dump(1) + "\n";
}

}  // namespace rmq::perf
