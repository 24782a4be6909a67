// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rmq::trace {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
// A rate from a shorter run is no better than the calibration at its start.
constexpr std::uint64_t kShort = 10'000'000;
// A rank may lose its CPU between two readings for about so long; a step of the date is larger.
constexpr std::int64_t kStep = 50'000'000;

// Of CLOCK_MONOTONIC, nine years, and of a date, ns.
constexpr std::uint64_t kMostUptime = std::uint64_t{1} << 58, kLastDate = std::uint64_t{1} << 62;
constexpr auto kMost = static_cast<std::int64_t>(kMostUptime);

}  // namespace

bool plausible_clocks(const TraceHeader& h) {
  return h.ns_per_tick > 0 && h.ns_per_tick < 1e9 && std::max(h.mono_ns_start, h.mono_ns_end) < kMostUptime &&
         std::max(h.wall_ns_start, h.wall_ns_end) < kLastDate &&
         std::min(h.offset_ns_start, h.offset_ns_end) > -kMost && std::max(h.offset_ns_start, h.offset_ns_end) < kMost;
}

HostClock::HostClock(const TraceHeader& h)
    : ticks_(h.ticks_start),
      start_ns_(static_cast<std::int64_t>(h.mono_ns_start)),
      wall_ns_(static_cast<std::int64_t>(h.wall_ns_start)),
      rate_(h.ns_per_tick),
      known_(h.error_ns_start != kUnknown) {
  if (known_) start_ns_ += h.offset_ns_start;
  if (h.ticks_end <= h.ticks_start || h.mono_ns_end <= h.mono_ns_start) return;
  observed_ns_ = h.mono_ns_end - h.mono_ns_start;
  if (observed_ns_ <= kShort) return;
  rate_ = static_cast<double>(observed_ns_) / static_cast<double>(h.ticks_end - h.ticks_start);
  if (!known_ || h.error_ns_end == kUnknown) return;
  const std::int64_t change = h.offset_ns_end - h.offset_ns_start;
  // What the two readings may be wrong by is no drift.
  if (static_cast<std::uint64_t>(std::abs(change)) > h.error_ns_start + h.error_ns_end)
    rate_ *= 1 + static_cast<double>(change) / static_cast<double>(observed_ns_);
}

Clocks::Clocks(std::span<const TraceHeader* const> headers) {
  std::map<unsigned, std::int64_t> steps;
  for (const TraceHeader* h : headers) {
    const HostClock clock(*h);
    const auto [best, fresh] = hosts_.try_emplace(h->host, clock);
    if (!fresh && clock.observed_ns() > best->second.observed_ns()) best->second = clock;
    if (h->ticks_end == 0) continue;
    const auto step =
        static_cast<std::int64_t>((h->wall_ns_end - h->mono_ns_end) - (h->wall_ns_start - h->mono_ns_start));
    if (std::abs(step) > kStep) steps[h->host] = step;
  }
  for (const auto& [host, ns] : steps)
    notes_.push_back(
        fmt::format("the date of host {} was set by {:+.3f} s while the job ran; times are not affected, they "
                    "come from CLOCK_MONOTONIC",
                    host, static_cast<double>(ns) / 1e9));
  const HostClock* reference = &hosts_.begin()->second;
  for (const auto& [host, clock] : hosts_) {
    if (clock.offset_known() && !reference->offset_known()) reference = &clock;
  }
  to_date_ = reference->to_date();
  for (auto& [host, clock] : hosts_) {
    if (clock.offset_known() || &clock == reference) continue;
    clock.move(std::clamp(clock.to_date() - to_date_, -kMost, kMost));
    exact_ = false;
  }
}

}  // namespace rmq::trace
