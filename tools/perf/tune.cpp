// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>

#include "engine/coll/rules.hpp"
#include "tools/perf/process.hpp"

namespace rmq::perf {
namespace {

namespace coll = mpi::coll;

constexpr std::uint64_t kSizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
// A rule is worth its place from so much less time on.
constexpr double kGain = 0.93;
constexpr std::uint64_t kMostMemory = 32 << 20;  // of all blocks, which the benchmark's buffers have to hold

/// What the benchmark moves, and what the rules call the bytes of that.
struct Size {
  std::uint64_t benchmark, rule;
};

std::vector<Size> sizes_of(coll::Collective c, int ranks) {
  using enum coll::Collective;
  if (c == barrier) return {{0, 0}};
  const auto p = static_cast<std::uint64_t>(ranks);
  const bool blocks = c == gather || c == scatter || c == allgather || c == alltoall || c == reduce_scatter;
  std::vector<Size> all;
  for (const std::uint64_t n : kSizes) {
    if (blocks && n * p > kMostMemory) break;
    all.push_back({n, c == allgather || c == reduce_scatter ? n * p : n});
  }
  return all;
}

/// Microseconds by size of the benchmark; RMQ_COLL as given.
Result<std::map<std::uint64_t, double>> measure(const Implementation& rmq, const TuneOptions& o, coll::Collective c,
                                                const std::string& forced) {
  std::string metrics;
  for (const Size& s : sizes_of(c, o.ranks))
    metrics += fmt::format("{}{}:{}", metrics.empty() ? "" : ",", coll::name_of(c), s.benchmark);
  const std::string launcher = rmq.compiler.substr(0, rmq.compiler.rfind('/') + 1) + "rmqrun";
  Command command{{launcher}, {{"RMQ_COLL", forced}}};
  command.words.insert(command.words.end(), o.launch.begin(), o.launch.end());
  for (const std::string& word :
       {std::string("-n"), std::to_string(o.ranks), rmq.program, metrics, fmt::format("{}", o.sample_seconds)})
    command.words.push_back(word);
  const auto done = run(command, std::chrono::seconds(300));
  if (!done) return tl::unexpected(done.error());
  std::map<std::uint64_t, double> us;
  std::istringstream lines(done->text);
  std::string metric;
  std::uint64_t size = 0;
  for (double value = 0; lines >> metric >> size >> value;) us[size] = value;
  if (us.size() != sizes_of(c, o.ranks).size())
    return fail(Errc::system, fmt::format("the benchmark has not printed all sizes of {}", coll::name_of(c)));
  return us;
}

std::string bytes_word(std::uint64_t n) {
  return n > 0 && n % 1024 == 0 ? fmt::format("{}k", n / 1024) : std::to_string(n);
}

/// Whether the ranks lie on hosts like that: a rule that cannot serve would be measured as what the table takes
/// instead.
bool can_serve(coll::Algorithm a, const TuneOptions& o) {
  if (a == coll::Algorithm::hosts) return o.hosts > 1 && o.ranks > o.hosts;
  return a != coll::Algorithm::board || o.hosts == 1;
}

Result<void> tune_one(const Implementation& rmq, const TuneOptions& o, coll::Collective c, Tuned& out) {
  // By algorithm; under "", what the table takes.
  std::map<std::string, std::map<std::uint64_t, std::vector<double>>> samples;
  std::vector<std::string> ways{""};
  for (const coll::Algorithm algorithm : coll::kEachAlgorithm) {
    if ((coll::algorithms_of(c) & coll::set_of(algorithm)) && can_serve(algorithm, o))
      ways.emplace_back(coll::name_of(algorithm));
  }
  for (int round = 0; round < o.rounds; ++round) {
    for (const std::string& way : ways) {
      const auto us = measure(rmq, o, c, way.empty() ? "" : fmt::format("{}={}", coll::name_of(c), way));
      if (!us) return tl::unexpected(us.error());
      for (const auto& [size, value] : *us) samples[way][size].push_back(value);
    }
  }
  // The least counts: where the scheduler puts ranks makes a run take twice as long as the next one, whatever it runs.
  const std::vector<Size> sizes = sizes_of(c, o.ranks);
  std::vector<std::string> best;
  for (const Size& s : sizes) {
    const double before = std::ranges::min(samples[""][s.benchmark]);
    std::string fastest;
    double least = before * kGain;
    for (const std::string& way : ways) {
      const double us = std::ranges::min(samples[way][s.benchmark]);
      if (way.empty() || us >= least) continue;
      least = us;
      fastest = way;
    }
    best.push_back(fastest);
    out.table +=
        fmt::format("{:<15} {:>9} {:>12.2f}   {}\n", coll::name_of(c), s.rule, before,
                    fastest.empty() ? "-" : fmt::format("{:.2f} {} ({:.2f}x)", least, fastest, least / before));
  }
  // Sizes in a row with the same algorithm are one rule, up to the next size that was measured.
  for (std::size_t i = 0; i < best.size();) {
    std::size_t end = i;
    while (end < best.size() && best[end] == best[i]) ++end;
    if (!best[i].empty()) {
      const std::string from = bytes_word(sizes[i].rule);
      const std::string to = end < best.size() ? bytes_word(sizes[end].rule - 1) : "";
      out.rules += c == coll::Collective::barrier
                       ? fmt::format("{}@{}={}\n", coll::name_of(c), o.ranks, best[i])
                       : fmt::format("{}:{}-{}@{}={}\n", coll::name_of(c), i == 0 ? "0" : from, to, o.ranks, best[i]);
    }
    i = end;
  }
  return {};
}

}  // namespace

Result<Tuned> tune(const Implementation& rmq, const TuneOptions& options) {
  Tuned out;
  out.table = fmt::format("{:<15} {:>9} {:>12}   {}\n", "collective", "bytes", "us, table", "fastest other");
  for (const coll::Collective c : coll::kEachCollective) {
    const auto& only = options.collectives;
    if (!only.empty() && std::ranges::find(only, coll::name_of(c)) == only.end()) continue;
    if (auto ok = tune_one(rmq, options, c, out); !ok) return tl::unexpected(ok.error());
  }
  return out;
}

}  // namespace rmq::perf
