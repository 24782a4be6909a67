#include "tools/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

namespace rmq::trace {
namespace {

// How ticks become nanoseconds of the wall clock on one host.
struct Clock {
  std::uint64_t ticks = 0, wall_ns = 0;
  double ns_per_tick = 1;
  std::uint64_t observed_ns = 0;  // length of the observation that gave the rate

  std::int64_t wall(std::uint64_t t) const {
    const auto since = static_cast<double>(static_cast<std::int64_t>(t - ticks)) * ns_per_tick;
    return static_cast<std::int64_t>(wall_ns) + std::llround(since);
  }
};

struct RawHeader {
  alignas(TraceFileHeader) std::byte bytes[sizeof(TraceFileHeader)];
  const TraceFileHeader& get() const { return *std::launder(reinterpret_cast<const TraceFileHeader*>(bytes)); }
};

Clock clock_of(const TraceFileHeader& h) {
  Clock c{h.ticks_start, h.wall_ns_start, h.ns_per_tick, 0};
  if (h.ticks_end > h.ticks_start && h.wall_ns_end > h.wall_ns_start) {
    c.observed_ns = h.wall_ns_end - h.wall_ns_start;
    // A short run's rate is no better than the calibration at its start.
    if (c.observed_ns > 10'000'000) {
      c.ns_per_tick = static_cast<double>(c.observed_ns) / static_cast<double>(h.ticks_end - h.ticks_start);
    }
  }
  return c;
}

Result<void> read_file(const std::filesystem::path& path, Trace& trace, std::vector<Clock>& clocks) {
  std::ifstream in(path, std::ios::binary);
  RawHeader raw{};
  if (!in.read(reinterpret_cast<char*>(raw.bytes), sizeof raw.bytes)) {
    return fail(Errc::argument, fmt::format("{} is too short for a trace", path.string()));
  }
  const TraceFileHeader& h = raw.get();
  if (std::memcmp(h.magic, "RMQTRC1", 8) != 0 || h.version != 1 || h.record_bytes != sizeof(TraceRecord) ||
      h.capacity == 0 || std::filesystem::file_size(path) < sizeof raw.bytes + h.capacity * sizeof(TraceRecord)) {
    return fail(Errc::argument, fmt::format("{} is no trace of this version", path.string()));
  }
  const std::uint64_t written = h.written.load(std::memory_order_relaxed);  // a private copy
  const std::uint64_t kept = std::min(written, h.capacity);
  Recording rank{h.rank, h.size, h.host, std::string(h.job, strnlen(h.job, sizeof h.job)), written, written - kept,
                 h.ticks_end != 0};
  std::vector<TraceRecord> ring(written > h.capacity ? h.capacity : written);
  if (!in.read(reinterpret_cast<char*>(ring.data()), static_cast<std::streamsize>(ring.size() * sizeof(TraceRecord)))) {
    return fail(Errc::argument, fmt::format("{} ends early", path.string()));
  }
  for (std::uint64_t n = written - kept; n < written; ++n) {
    trace.entries.push_back({0, rank.rank, ring[n % h.capacity]});
  }
  clocks.push_back(clock_of(h));
  trace.ranks.push_back(std::move(rank));
  return {};
}

}  // namespace

Packet Entry::packet() const {
  Packet p;
  std::memcpy(static_cast<void*>(&p), record.packet, sizeof p);
  return p;
}

Result<Trace> read(const std::string& folder) {
  Trace trace;
  std::vector<Clock> clocks;  // as trace.ranks
  std::error_code ec;
  for (const auto& file : std::filesystem::directory_iterator(folder, ec)) {
    if (file.path().extension() != ".rmqtrace") continue;
    if (auto ok = read_file(file.path(), trace, clocks); !ok) return tl::unexpected(ok.error());
  }
  if (ec) return fail(Errc::argument, fmt::format("cannot read the folder {}: {}", folder, ec.message()));
  if (trace.ranks.empty()) {
    return fail(Errc::argument, fmt::format("{} has no rank-*.rmqtrace; record one with rmqrun --trace {}", folder, folder));
  }
  std::map<unsigned, Clock> host_clock;
  std::map<int, unsigned> host_of;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    host_of[trace.ranks[i].rank] = trace.ranks[i].host;
    Clock& best = host_clock[trace.ranks[i].host];
    if (best.ticks == 0 || clocks[i].observed_ns > best.observed_ns) best = clocks[i];
  }
  for (Entry& e : trace.entries) e.ns = host_clock[host_of[e.rank]].wall(e.record.ticks);
  // Stable: events of one rank keep their order even where the clock does not tell them apart.
  std::stable_sort(trace.entries.begin(), trace.entries.end(), [](const Entry& a, const Entry& b) { return a.ns < b.ns; });
  const std::int64_t start = trace.entries.empty() ? 0 : trace.entries.front().ns;
  for (Entry& e : trace.entries) e.ns -= start;
  trace.start_ns = start;
  std::sort(trace.ranks.begin(), trace.ranks.end(), [](const Recording& a, const Recording& b) { return a.rank < b.rank; });
  return trace;
}

}  // namespace rmq::trace
