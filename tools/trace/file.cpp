#include "tools/trace/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "base/trace_stream.hpp"
#include "tools/trace/join.hpp"

namespace rmq::trace {
namespace {

// How ticks become nanoseconds of the launcher's wall clock on one host.
struct Clock {
  std::uint64_t ticks = 0, wall_ns = 0;
  double ns_per_tick = 1;
  std::uint64_t observed_ns = 0;  // length of the observation that gave the rate
  std::int64_t offset_ns = 0;     // to the launcher's clock, at `wall_ns` …
  double drift = 0;               // … and by how much it grows in a nanosecond

  std::int64_t wall(std::uint64_t t) const {
    const auto since = static_cast<double>(static_cast<std::int64_t>(t - ticks)) * ns_per_tick;
    return static_cast<std::int64_t>(wall_ns) + offset_ns + std::llround(since * (1 + drift));
  }
};

struct RawHeader {
  alignas(TraceHeader) std::byte bytes[sizeof(TraceHeader)];
  const TraceHeader& get() const { return *std::launder(reinterpret_cast<const TraceHeader*>(bytes)); }
};

Clock clock_of(const TraceHeader& h) {
  constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  Clock c{h.ticks_start, h.wall_ns_start, h.ns_per_tick};
  if (h.error_ns_start != kUnknown) c.offset_ns = h.offset_ns_start;
  if (h.ticks_end <= h.ticks_start || h.wall_ns_end <= h.wall_ns_start) return c;
  c.observed_ns = h.wall_ns_end - h.wall_ns_start;
  // A short run's rate is no better than the calibration at its start.
  if (c.observed_ns <= 10'000'000) return c;
  c.ns_per_tick = static_cast<double>(c.observed_ns) / static_cast<double>(h.ticks_end - h.ticks_start);
  const auto change = h.offset_ns_end - h.offset_ns_start;
  // What the two readings may be wrong by is no drift.
  if (h.error_ns_start != kUnknown && h.error_ns_end != kUnknown &&
      static_cast<std::uint64_t>(std::abs(change)) > h.error_ns_start + h.error_ns_end) {
    c.drift = static_cast<double>(change) / static_cast<double>(c.observed_ns);
  }
  return c;
}

Result<void> read_file(const std::filesystem::path& path, Trace& trace, std::vector<Clock>& clocks) {
  std::ifstream in(path, std::ios::binary);
  RawHeader raw{};
  if (!in.read(reinterpret_cast<char*>(raw.bytes), sizeof raw.bytes)) {
    return fail(Errc::argument, fmt::format("{} is too short for a trace", path.string()));
  }
  const TraceHeader& h = raw.get();
  if (std::memcmp(h.magic, TraceHeader::kMagic, sizeof h.magic) != 0 || h.version != TraceHeader::kVersion ||
      h.record_bytes != kTraceUnit) {
    return fail(Errc::argument, fmt::format("{} is no trace of this version", path.string()));
  }
  const std::uint64_t written = h.written.load(std::memory_order_relaxed);  // a private copy
  const std::uint64_t appended = TraceStream::appended(std::filesystem::file_size(path), written);
  if (h.capacity != TraceStream::kSegment || written - appended > TraceStream::kSegment) {
    return fail(Errc::argument, fmt::format("{} ends early", path.string()));
  }
  std::vector<std::byte> units(written * kTraceUnit);
  const auto take = [&](std::uint64_t at, std::uint64_t first, std::uint64_t last) {
    in.seekg(static_cast<std::streamoff>(at));
    in.read(reinterpret_cast<char*>(units.data() + first * kTraceUnit),
            static_cast<std::streamsize>((last - first) * kTraceUnit));
  };
  take(TraceStream::kBodyAt, 0, appended);
  take(sizeof raw.bytes, appended, written);  // the tail
  if (!in) return fail(Errc::argument, fmt::format("{} cannot be read", path.string()));
  std::uint64_t events = 0;
  for (std::uint64_t at = 0; at < written;) {
    TraceRecord r{};
    std::memcpy(static_cast<void*>(&r), units.data() + at * kTraceUnit, kTraceUnit);
    if (r.units == 0 || r.units > kMostTraceUnits || r.units > written - at) {
      return fail(Errc::argument, fmt::format("{} is damaged behind its event {}", path.string(), events));
    }
    std::memcpy(static_cast<void*>(&r), units.data() + at * kTraceUnit, r.units * kTraceUnit);
    at += r.units;
    if (r.event == Event::none) continue;  // the end of a segment
    trace.entries.push_back({0, h.rank, false, r});
    ++events;
  }
  clocks.push_back(clock_of(h));
  trace.ranks.push_back({h.rank, h.size, h.host, std::string(h.job, strnlen(h.job, sizeof h.job)), events,
                         h.dropped.load(std::memory_order_relaxed), h.ticks_end != 0});
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
    return fail(Errc::argument,
                fmt::format("{} has no rank-*.rmqtrace; record one with rmqrun --trace {}", folder, folder));
  }
  std::map<unsigned, Clock> host_clock;
  std::map<int, unsigned> host_of;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    host_of[trace.ranks[i].rank] = trace.ranks[i].host;
    Clock& best = host_clock[trace.ranks[i].host];
    if (best.ticks == 0 || clocks[i].observed_ns > best.observed_ns) best = clocks[i];
  }
  std::map<int, std::int64_t> last;  // a rank's own order holds, whatever its clock says
  for (Entry& e : trace.entries) {
    const std::int64_t ns = host_clock[host_of[e.rank]].wall(e.record.ticks);
    auto& before = last.try_emplace(e.rank, ns).first->second;
    e.ns = before = std::max(ns, before);
  }
  put_in_order(trace);
  const std::int64_t start = trace.entries.empty() ? 0 : trace.entries.front().ns;
  for (Entry& e : trace.entries) e.ns -= start;
  trace.start_ns = start;
  std::sort(trace.ranks.begin(), trace.ranks.end(),
            [](const Recording& a, const Recording& b) { return a.rank < b.rank; });
  return trace;
}

}  // namespace rmq::trace
