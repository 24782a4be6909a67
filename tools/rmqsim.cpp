// SPDX-License-Identifier: BSD-3-Clause
// rmqsim: what a communication pattern takes on machines that are not there, in virtual time; the device, the
// collectives and the windows are the real code (methods/simulated.hpp).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/os/clock.hpp"
#include "tools/sim/crew.hpp"
#include "tools/sim/net.hpp"
#include "tools/sim/pattern.hpp"
#include "tools/sim/picture.hpp"

namespace {

using namespace rmq;

struct Options {
  int ranks = 64;
  int hosts = 1;
  int rounds = 1;
  std::string net, trace, json, svg, algorithms;
  std::vector<std::string> patterns;
  bool grow = false, meet = false, print_net = false;
};

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // bytes: a million times as many are still a number

/// "bcast:64k".
struct Wanted {
  const sim::Pattern* pattern;
  std::uint64_t bytes;
};

struct Row {
  Wanted what;
  int ranks, hosts;
  double us, bound_us;                  // of a round
  double messages, bytes;               // of a rank and round
  std::uint64_t in_flight, unexpected;  // packets, bytes: the most of any rank
  double memory;                        // bytes of a rank
  double seconds;                       // it took here
};

Result<Wanted> parse(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  const sim::Pattern* p = sim::find_pattern(name);
  if (!p) return fail(Errc::config, fmt::format("there is no pattern '{}' (rmqsim --help lists them)", name));
  if (colon == text.size()) return Wanted{p, 8};
  const std::string size = text.substr(colon + 1);
  const auto bytes = config::parse_bytes(size);
  if (!bytes) return fail(Errc::config, fmt::format("'{}' is no size: it {}", size, bytes.error().what));
  if (*bytes > kMost) return fail(Errc::config, fmt::format("'{}' is no size: it is too large", size));
  return Wanted{p, *bytes};
}

/// Of the whole process, now.
double resident() {
  long pages = 0, ignored = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "re");
  if (!f) return 0;
  if (std::fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  std::fclose(f);
  return static_cast<double>(pages) * 4096;
}

/// In blocks, of which the first are one rank longer where they cannot be equal.
Hosts place(int ranks, int hosts) {
  if (ranks % hosts == 0) return Hosts::blocks(ranks, ranks / hosts);
  std::vector<int> host_of_rank;
  for (int host = 0; host < hosts; ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(ranks / hosts + (host < ranks % hosts)), host);
  return Hosts(host_of_rank);
}

Result<Row> simulate(const Options& o, const methods::SimCost& cost, const Wanted& w, int ranks, int hosts) {
  const std::uint64_t started = os::now_ns();
  const double before = resident();
  sim::CrewOptions options{place(ranks, hosts), cost, o.trace, {}};
  const auto forced = mpi::coll::Choice::parse(o.algorithms);
  if (!forced) return tl::unexpected(forced.error());
  options.forced = *forced;
  auto crew = sim::Crew::open(options);
  if (!crew) return tl::unexpected(crew.error());
  const auto round = w.pattern->prepare(**crew, w.bytes);
  const methods::SimWorld::Totals start = (*crew)->world().totals();
  const auto took = (*crew)->time([&](Rank r) {
    for (int i = 0; i < o.rounds; ++i) {
      round(r);
      if (o.meet) mpi::coll::barrier((*crew)->comm(r));
    }
  });
  if (!took)
    return fail(took.error().code, fmt::format("{} with {} ranks: {}", w.pattern->name, ranks, took.error().what));
  const methods::SimWorld::Totals& end = (*crew)->world().totals();
  const double all = static_cast<double>(ranks) * o.rounds;
  std::uint64_t unexpected = 0;
  for (Rank r = 0; r < ranks; ++r) unexpected = std::max(unexpected, (*crew)->device(r).counters().unexpected_peak);
  return Row{w,
             ranks,
             hosts,
             *took / 1000 / o.rounds,
             w.pattern->bound(options.hosts, cost, static_cast<double>(w.bytes)) / 1000,
             static_cast<double>(end.packets - start.packets) / all,
             static_cast<double>(end.bytes - start.bytes) / all,
             end.in_flight_most,
             unexpected,
             (resident() - before) / ranks,
             static_cast<double>(os::now_ns() - started) / 1e9};
}

void print(const Row& r) {
  fmt::print(
      "{:<15} {:>9} {:>7} {:>6} {:>12.2f} {:>12.2f} {:>6.2f} {:>9.1f} {:>12.0f} {:>8} {:>10} {:>8.0f} {:>7.1f}\n",
      r.what.pattern->name, r.what.bytes, r.ranks, r.hosts, r.us, r.bound_us, r.bound_us > 0 ? r.us / r.bound_us : 0,
      r.messages, r.bytes, r.in_flight, r.unexpected, r.memory / 1024, r.seconds);
  std::fflush(stdout);
}

nlohmann::json json_of(const Row& r) {
  return {{"pattern", r.what.pattern->name},
          {"bytes", r.what.bytes},
          {"ranks", r.ranks},
          {"hosts", r.hosts},
          {"us", r.us},
          {"bound_us", r.bound_us},
          {"packets_per_rank", r.messages},
          {"payload_per_rank", r.bytes},
          {"in_flight_most", r.in_flight},
          {"unexpected_most", r.unexpected},
          {"memory_per_rank", r.memory},
          {"seconds", r.seconds}};
}

int complain(const Error& e) {
  fmt::print(stderr, "rmqsim: {}\n", e.what);
  return 1;
}

bool write(const std::string& path, const std::string& text) {
  std::FILE* const f = std::fopen(path.c_str(), "we");
  bool good = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
  int why = errno;
  if (f && std::fclose(f) != 0 && std::exchange(good, false)) why = errno;  // what was buffered is written only now
  if (good) return true;
  complain({Errc::system, fmt::format("cannot write {}: {}", path, std::strerror(why))});
  return false;
}

int run(const Options& o) {
  methods::SimCost cost = sim::default_cost();
  if (!o.net.empty()) {
    const auto read = sim::read_cost(o.net);
    if (!read) return complain(read.error());
    cost = *read;
  }
  if (o.print_net) {
    fmt::print("{}", sim::text_of(cost));
    return 0;
  }
  std::vector<Wanted> wanted;
  for (const std::string& text : o.patterns) {
    const auto w = parse(text);
    if (!w) return complain(w.error());
    wanted.push_back(*w);
  }
  if (wanted.empty()) return complain({Errc::config, "names no pattern (rmqsim --help lists them)"});
  if (o.hosts > o.ranks)
    return complain({Errc::config, fmt::format("{} ranks do not fill {} hosts", o.ranks, o.hosts)});
  const int a_host = (o.ranks + o.hosts - 1) / o.hosts;
  fmt::print("{:<15} {:>9} {:>7} {:>6} {:>12} {:>12} {:>6} {:>9} {:>12} {:>8} {:>10} {:>8} {:>7}\n", "pattern", "bytes",
             "ranks", "hosts", "us", "bound", "x", "packets", "payload", "inflight", "unexpected", "KB/rank", "took s");
  nlohmann::json rows = nlohmann::json::array();
  std::vector<sim::Curve> curves;
  for (const Wanted& w : wanted) {
    std::vector<int> sizes{o.ranks};
    if (o.grow) {
      sizes.clear();
      for (int p = 16; p < o.ranks; p *= 4) sizes.push_back(p);
      sizes.push_back(o.ranks);
    }
    sim::Curve curve{fmt::format("{} {}", w.pattern->name, config::bytes_text(w.bytes)), {}};
    for (const int p : sizes) {
      const auto row = simulate(o, cost, w, p, p == o.ranks ? o.hosts : (p + a_host - 1) / a_host);
      if (!row) return complain(row.error());
      print(*row);
      rows.push_back(json_of(*row));
      curve.points.push_back({static_cast<double>(p), row->us, row->bound_us});
    }
    curves.push_back(std::move(curve));
  }
  if (!o.json.empty() && !write(o.json, rows.dump(1) + "\n")) return 1;
  if (!o.svg.empty() && !write(o.svg, sim::picture(curves))) return 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Simulates a job of any size in virtual time: real device, collectives and windows, links that cost what a\n"
      "file says. Times are of one round, from the start of all ranks to the end of the last; 'bound' is the\n"
      "least that it could take."};
  app.name("rmqsim");
  app.add_option("-n,--ranks", o.ranks, "ranks")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--hosts", o.hosts, "hosts that they are on, in blocks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--net", o.net, "costs of links, a file as --print-net writes it")->check(CLI::ExistingFile);
  app.add_flag("--print-net", o.print_net, "print the costs and end");
  app.add_option("--rounds", o.rounds, "times that each rank does it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--meet", o.meet, "a barrier behind each time, which counts");
  app.add_flag("--grow", o.grow, "also with 16, 64, 256 … ranks, as many a host");
  app.add_option("--coll", o.algorithms, "algorithms, as RMQ_COLL has them");
  app.add_option("--trace", o.trace, "folder for traces, which rmqtrace reads");
  app.add_option("--json", o.json, "also write rows to this file");
  app.add_option("--svg", o.svg, "also draw time against ranks into this file; with --grow");
  app.add_option("pattern", o.patterns, "what ranks do, as in bcast:64k; 8 bytes without a size");
  std::string names = "Patterns:\n";
  for (const auto& p : rmq::sim::patterns()) names += fmt::format("  {:<15} {}\n", p.name, p.meaning);
  app.footer(names);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const std::bad_alloc&) {
    return complain({Errc::no_memory, "this many ranks do not fit into memory"});
  }
}
