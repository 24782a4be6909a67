// SPDX-License-Identifier: BSD-3-Clause
// How the costs follow from figures of two ranks. Times in ns; latency(n): one way of n bytes.
//
//   on two CPUs, shm   latency(8) = send + L + receive; a stream is as fast as its receiver: receive = 1 / rate
//                      latency(16 KB) adds what both do with each byte, half of it on either side
//   on one CPU, shm    latency(8) = send + receive + the turn from one rank to the other; nobody waits for L
//   on two CPUs, tcp   a barrier = send + receive: on a loopback a send is still at work when the other has the
//   message,
//                      so that what both do at once takes longer than one way of a ping-pong, which shows nothing of it
//   long, shm          latency(n) = a packet, a call that copies, and each byte: from 64 KB and 1 MB, on one CPU; on
//   two
//                      both sides copy
//   long, tcp          three packets, and each byte, half of it on either side: the wire is the CPUs' work
#include "tools/perf/calibrate.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/clock.hpp"
#include "tools/perf/plan.hpp"
#include "tools/process/fd.hpp"
#include "tools/sim/net.hpp"

namespace rmq::perf {
namespace {

constexpr const char* kPairs = "latency:8,latency:16384,latency:65536,latency:1048576,rate:8,combine:1048576,barrier:0";
constexpr const char* kOneCpu = "one CPU";
constexpr const char* kAlone = "latency:8,latency:16384,latency:65536,latency:1048576";
constexpr long kEager = 16 * 1024, kLong = 64 * 1024, kLongest = 1 << 20;
// A receiver does most of the work on a short message in shared memory: it looks, matches and copies out.
constexpr double kSendShare = 0.6;
constexpr double kLeast = 20;  // ns of anything

struct Shape {
  int ranks, hosts;
  std::string name() const { return hosts == 1 ? "shm" : fmt::format("{} hosts", hosts); }
};
constexpr Shape kShapes[] = {{2, 1}, {4, 1}, {8, 1}, {16, 1}, {64, 1}, {2, 2}, {8, 2}, {16, 4}};

/// As the benchmark and rmqsim name them. `meets`: the benchmark has a barrier behind each.
struct Checked {
  const char* name;
  long bytes;
  bool meets;
};
constexpr Checked kChecked[] = {{"barrier", 0, false},         {"bcast", 8, true},
                                {"bcast", 4096, true},         {"bcast", 65536, true},
                                {"bcast", 1 << 20, true},      {"reduce", 8, true},
                                {"reduce", 65536, true},       {"reduce", 1 << 20, true},
                                {"allreduce", 8, false},       {"allreduce", 4096, false},
                                {"allreduce", 65536, false},   {"allreduce", 1 << 20, false},
                                {"gather", 64, true},          {"scatter", 64, true},
                                {"allgather", 8, false},       {"allgather", 16384, false},
                                {"alltoall", 8, false},        {"alltoall", 4096, false},
                                {"reduce_scatter", 64, false}, {"reduce_scatter", 65536, false}};

std::string beside(const Implementation& rmq, const char* program) {
  return rmq.compiler.substr(0, rmq.compiler.rfind('/') + 1) + program;
}

/// This process, and those that it starts, on one CPU.
class OnOneCpu {
 public:
  OnOneCpu() {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    bound_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OnOneCpu() {
    if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

/// Adds what the benchmark prints, under that transport.
Result<void> bench(const Implementation& rmq, const CalibrateOptions& o, int ranks, const std::string& metrics,
                   const std::vector<std::string>& launch, const char* wait, const std::string& transport,
                   Reading& to) {
  Command command{{beside(rmq, "rmqrun"), "-n", std::to_string(ranks)}, {{"RMQ_WAIT", wait}}};
  command.words.insert(command.words.end(), launch.begin(), launch.end());
  for (const std::string& word : {rmq.program, metrics, fmt::format("{}", o.sample_seconds)})
    command.words.push_back(word);
  const auto done = run(command, std::chrono::seconds(300));
  if (!done) return tl::unexpected(done.error());
  std::istringstream lines(done->text);
  Row row{"", 0, ranks, transport};
  for (double value = 0; lines >> row.metric >> row.size >> value;) to[row] = value;
  return {};
}

/// Figures of two ranks on two CPUs, and on one.
Result<void> pairs(const Implementation& rmq, const CalibrateOptions& o, Reading& all) {
  if (auto ok = bench(rmq, o, 2, kPairs, {"--host-split", "2"}, "auto", "shm", all); !ok) return ok;
  if (auto ok = bench(rmq, o, 2, kPairs, {"--host-split", "1,1"}, "auto", "tcp", all); !ok) return ok;
  const OnOneCpu one;
  return bench(rmq, o, 2, kAlone, {"--host-split", "2"}, "yield", kOneCpu, all);
}

Result<void> patterns(const Implementation& rmq, const CalibrateOptions& o, const Shape& s, Reading& all) {
  std::string metrics, split;
  for (const Checked& c : kChecked) metrics += fmt::format("{}{}:{}", metrics.empty() ? "" : ",", c.name, c.bytes);
  for (int h = 0; h < s.hosts; ++h) split += fmt::format("{}{}", h == 0 ? "" : ",", s.ranks / s.hosts);
  return bench(rmq, o, s.ranks, metrics, {"--host-split", split}, "auto", s.name(), all);
}

/// RMQ's figures of all rounds.
using Samples = std::map<Row, std::vector<double>>;

/// The machine's speed changes by itself, so pairs are measured again beside each shape.
Result<Samples> measure(const Implementation& rmq, const CalibrateOptions& o) {
  Samples samples;
  for (int round = 0; round < o.rounds; ++round) {
    for (const Shape& s : kShapes) {
      if (s.ranks > (o.check ? std::max(o.most, 2) : 2)) continue;
      Reading figures;
      if (auto ok = pairs(rmq, o, figures); !ok) return tl::unexpected(ok.error());
      if (o.check) {
        if (auto ok = patterns(rmq, o, s, figures); !ok) return tl::unexpected(ok.error());
      }
      for (const auto& [row, value] : figures) samples[row].push_back(value);
    }
  }
  return samples;
}

/// Of a call that asks for events where there are none.
double look_ns() {
  constexpr int kCalls = 20'000;
  const launch::UniqueFd poll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event;
  const std::uint64_t from = os::now_ns();
  for (int i = 0; i < kCalls; ++i) ::epoll_wait(poll.get(), &event, 1, 0);
  return static_cast<double>(os::now_ns() - from) / kCalls;
}

methods::SimCost cost_of(const Samples& samples, int cpus) {
  const auto figure = [&](const char* metric, long size, const std::string& transport) {
    return median(samples.at({metric, size, 2, transport}));
  };
  const auto latency = [&](long size, const std::string& transport) {
    return figure("latency", size, transport) * 1000;
  };
  const auto least = [](double ns) { return std::max(ns, kLeast); };
  methods::SimCost c = sim::default_cost();
  c.cpus = cpus;
  c.pretended = 1;

  const double near = latency(8, "shm"), turning = latency(8, kOneCpu);
  c.within.receive = least(1000 / figure("rate", 8, "shm"));
  c.within.send = least(c.within.receive * kSendShare);
  c.within.latency = least(near - c.within.send - c.within.receive);
  c.within.send_byte = c.within.receive_byte = std::max(0.0, latency(kEager, "shm") - near) / kEager / 2;
  c.turn = least(turning - c.within.send - c.within.receive);
  c.copy_byte = std::max(0.0, latency(kLongest, kOneCpu) - latency(kLong, kOneCpu)) / (kLongest - kLong);
  const double shared = std::max(0.0, latency(kLongest, "shm") - latency(kLong, "shm")) / (kLongest - kLong);
  c.copy_shared = c.copy_byte > 0 ? std::min(shared / c.copy_byte, 1.0) : 1;
  c.copy = least(latency(kLong, kOneCpu) - turning - kLong * c.copy_byte);
  c.combine_byte = figure("combine", kLongest, "shm") * 1000 / kLongest;

  const double far = latency(8, "tcp");
  const double work = figure("barrier", 0, "tcp") * 1000;
  c.between.send = c.between.receive = work / 2;
  c.between.latency = least(far - work);
  c.between.send_byte = c.between.receive_byte = std::max(0.0, latency(kLongest, "tcp") - 3 * far) / kLongest / 2;
  c.between.look = look_ns();
  c.between.wire_byte = c.between.gap = 0;
  return c;
}

/// Microseconds of each pattern, simulated.
Result<std::map<std::pair<std::string, long>, double>> simulate(const Implementation& rmq, const CalibrateOptions& o,
                                                                const Shape& s, const std::string& net) {
  std::map<std::pair<std::string, long>, double> us;
  const std::string file = o.folder + "/simulated";
  for (const bool meets : {false, true}) {
    Command command{{beside(rmq, "rmqsim"), "-n", std::to_string(s.ranks), "--hosts", std::to_string(s.hosts), "--net",
                     net, "--rounds", "40", "--json", file},
                    {}};
    if (meets) command.words.emplace_back("--meet");
    for (const Checked& c : kChecked)
      if (c.meets == meets) command.words.push_back(fmt::format("{}:{}", c.name, c.bytes));
    if (const auto done = run(command, std::chrono::seconds(300)); !done) return tl::unexpected(done.error());
    std::ifstream in(file);
    const nlohmann::json rows = nlohmann::json::parse(in, nullptr, false);
    if (!rows.is_array()) return fail(Errc::system, fmt::format("rmqsim has written no rows to {}", file));
    for (const auto& row : rows) us[{row["pattern"], row["bytes"]}] = row["us"];
  }
  return us;
}

Result<std::string> check(const Implementation& rmq, const CalibrateOptions& o, const Samples& samples,
                          const std::string& net) {
  std::string head = fmt::format("{:<15} {:>8}", "real/sim us", "bytes"), body;
  std::map<std::string, std::vector<double>> errors;  // by shape
  std::map<std::string, std::map<std::pair<std::string, long>, double>> simulated;
  std::vector<Shape> shapes;
  for (const Shape& s : kShapes) {
    if (s.ranks > std::max(o.most, 2)) continue;
    auto us = simulate(rmq, o, s, net);
    if (!us) return tl::unexpected(us.error());
    simulated[fmt::format("{} {}", s.ranks, s.name())] = std::move(*us);
    shapes.push_back(s);
    head += fmt::format("{:>22}", fmt::format("{} {}", s.ranks, s.name()));
  }
  std::vector<double> all;
  for (const Checked& c : kChecked) {
    body += fmt::format("{:<15} {:>8}", c.name, c.bytes);
    for (const Shape& s : shapes) {
      const std::string shape = fmt::format("{} {}", s.ranks, s.name());
      const double real = median(samples.at({c.name, c.bytes, s.ranks, s.name()}));
      const double sim = simulated[shape].at({c.name, c.bytes});
      const double error = (sim - real) / real * 100;
      errors[shape].push_back(std::abs(error));
      all.push_back(std::abs(error));
      body += fmt::format("{:>22}", fmt::format("{:.3g}/{:.3g} {:+.0f}%", real, sim, error));
    }
    body += '\n';
  }
  body += fmt::format("{:<15} {:>8}", "median error", "");
  for (const Shape& s : shapes)
    body += fmt::format("{:>22}", fmt::format("{:.0f}%", median(errors[fmt::format("{} {}", s.ranks, s.name())])));
  return head + '\n' + body + fmt::format("\nof all: {:.0f}%\n", median(all));
}

}  // namespace

Result<Calibrated> calibrate(const Implementation& rmq, const CalibrateOptions& options) {
  const auto samples = measure(rmq, options);
  if (!samples) return tl::unexpected(samples.error());
  Calibrated made{cost_of(*samples, options.cpus), ""};
  if (!options.check) return made;
  const std::string net = options.folder + "/net";
  std::ofstream(net) << sim::text_of(made.cost);
  auto table = check(rmq, options, *samples, net);
  if (!table) return tl::unexpected(table.error());
  made.table = std::move(*table);
  return made;
}

}  // namespace rmq::perf
