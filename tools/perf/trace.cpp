// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/trace.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "base/record/trace.hpp"
#include "tools/perf/process.hpp"

namespace rmq::perf {
namespace {

constexpr const char* kNames[] = {"off", "flight recorder", "full trace"};
constexpr int kWays = 3;

Result<double> latency(const Implementation& rmq, int how, const Options& options, const std::string& folder) {
  const auto ways = rmq.ways("shm", 2, options.cpus);
  Command command{ways.front().before, ways.front().variables};
  for (const std::string& word : {std::string("-n"), std::string("2"), rmq.program, std::string("latency:8"),
                                  fmt::format("{}", options.sample_seconds)})
    command.words.push_back(word);
  if (how == 0) command.variables.emplace_back("RMQ_FLIGHT", "0");
  if (how == 2) {
    command.variables.emplace_back("RMQ_TRACE", folder + "/trace");
    command.variables.emplace_back("RMQ_TRACE_MAX", "256M");
  }
  const auto done = run(command, std::chrono::seconds(60));
  if (!done) return tl::unexpected(done.error());
  std::istringstream line(done->text);
  std::string metric;
  long size = 0;
  double us = 0;
  if (!(line >> metric >> size >> us)) return fail(Errc::system, "the benchmark printed no latency");
  return us;
}

// Nanoseconds that recording one packet takes this process, as the loop of a sender would see it.
double event_ns(Trace& trace) {
  constexpr std::uint64_t kEvents = 200'000;
  Packet p(Kind::SHORT);
  const std::uint64_t from = os::now_ns();
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    p.msg = static_cast<std::uint32_t>(i);
    trace.packet(Event::packet_sent, 3, 1, p, 8);
  }
  return static_cast<double>(os::now_ns() - from) / static_cast<double>(kEvents);
}

Result<double> event_cost(int how, const std::string& folder) {
  Trace trace;
  const TraceOwner owner{0, 1, 0, "rmqperf"};
  if (how == 2) {
    if (auto ok = trace.open(folder + "/events", owner, 0); !ok) return tl::unexpected(ok.error());
  }
  if (how >= 1) {
    const int fd = ::memfd_create("rmqperf", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(Trace::kFlightSlot)) != 0) return fail_errno("no memory file");
    trace.fly(fd, 0, owner, 1024, 0);
    ::close(fd);
  }
  return event_ns(trace);
}

}  // namespace

Result<std::string> trace_cost(const Implementation& rmq, const Options& options, const std::string& folder) {
  std::vector<double> us[kWays], ns[kWays];
  for (int round = 0; round < options.rounds; ++round) {
    for (int how = 0; how < kWays; ++how) {
      const auto one = latency(rmq, how, options, folder);
      if (!one) return tl::unexpected(one.error());
      us[how].push_back(*one);
      const auto event = event_cost(how, folder);
      if (!event) return tl::unexpected(event.error());
      ns[how].push_back(*event);
      std::error_code ignored;
      std::filesystem::remove_all(folder + "/trace", ignored);
      std::filesystem::remove_all(folder + "/events", ignored);
    }
  }
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<18} {:>16} {:>10} {:>14}\n", "recording", "8 B latency us", "ratio", "ns an event");
  for (int how = 0; how < kWays; ++how) {
    fmt::format_to(out, "{:<18} {:>16.4f} {:>10.3f} {:>14.1f}\n", kNames[how], median(us[how]),
                   median(us[how]) / median(us[0]), median(ns[how]));
  }
  text += "Medians of runs in turn, over shared memory. A message is about eight events of a full trace.\n";
  return text;
}

}  // namespace rmq::perf
