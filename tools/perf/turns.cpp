// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rmq::perf {
namespace {

// Probes of one phase differ by less; a slow phase is at twice and more.
constexpr double kSamePhase = 1.3;
constexpr std::size_t kMostRounds = 3;  // for each that is wanted

bool in_one_phase(const Sample& a, const Sample& b) {
  const auto [least, most] = std::minmax({a.before, a.after, b.before, b.after});
  return most <= kSamePhase * least;
}

bool enough(const Table& table, const std::string& first, std::size_t rounds) {
  return std::ranges::all_of(table, [&](const auto& entry) {
    const Turns& turns = entry.second;
    const auto names = turns.names();
    if (names.size() == 1) return turns.values(names.front()).size() >= rounds;
    return std::ranges::all_of(names, [&](const std::string& name) {
      return name == first || turns.advantages(first, name).size() >= rounds;
    });
  });
}

}  // namespace

std::string unit_of(const std::string& metric) {
  if (metric == "bandwidth" || metric == "bibandwidth" || metric == "put_bandwidth") return "GB/s";
  if (metric == "rate" || metric == "put_rate" || metric == "gups" || metric == "gups_queue") return "M/s";
  if (metric == "overlap" || metric == "idle_window") return "%";
  if (metric == "startup") return "ms";
  if (metric == "memory") return "MB";
  return "us";
}

bool higher_is_better(const std::string& metric) {
  const std::string unit = unit_of(metric);
  return unit == "GB/s" || unit == "M/s" || metric == "overlap";
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

void Turns::add(const std::string& name, std::size_t round, const Sample& sample) {
  const auto [at, first] = by_name_[name].try_emplace(round, sample);
  if (first) return;
  if (higher_ ? sample.value > at->second.value : sample.value < at->second.value) at->second = sample;
}

std::vector<std::string> Turns::names() const {
  std::vector<std::string> all;
  for (const auto& [name, samples] : by_name_) all.push_back(name);
  return all;
}

std::size_t Turns::rounds_of(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? 0 : found->second.size();
}

std::vector<double> Turns::values(const std::string& name) const {
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& [other, samples] : by_name_)
    for (const auto& [round, sample] : samples) fastest = std::min({fastest, sample.before, sample.after});
  std::vector<double> all, fast;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return all;
  for (const auto& [round, sample] : found->second) {
    all.push_back(sample.value);
    if (std::max(sample.before, sample.after) <= kSamePhase * fastest) fast.push_back(sample.value);
  }
  return fast.empty() ? all : fast;
}

std::vector<double> Turns::advantages(const std::string& ours, const std::string& theirs) const {
  std::vector<double> all;
  const auto mine = by_name_.find(ours), other = by_name_.find(theirs);
  if (mine == by_name_.end() || other == by_name_.end()) return all;
  for (const auto& [round, sample] : mine->second) {
    const auto found = other->second.find(round);
    if (found == other->second.end() || !in_one_phase(sample, found->second)) continue;
    const double a = sample.value, b = found->second.value;
    if (a > 0 && b > 0) all.push_back(higher_ ? a / b : b / a);
  }
  return all;
}

Table take_turns(const std::vector<Contestant>& all, std::size_t rounds, const std::function<double()>& probe) {
  Table table;
  if (all.empty()) return table;
  for (std::size_t round = 0; round < kMostRounds * rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Contestant& one = all[round % 2 == 0 ? i : all.size() - 1 - i];
      const double before = probe();
      const Reading reading = one.run();
      const double after = probe();
      for (const auto& [row, value] : reading) {
        const auto at = table.try_emplace(row, higher_is_better(row.metric)).first;
        at->second.add(one.name, round, {value, before, after});
      }
    }
    if (enough(table, all.front().name, rounds)) break;
  }
  return table;
}

std::string cell(const Turns& turns, const std::string& name) {
  const auto values = turns.values(name);
  if (values.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.3g} ({:.3g}-{:.3g})", median(values), least, most);
}

}  // namespace rmq::perf
