// SPDX-License-Identifier: BSD-3-Clause
// The clocks of a job's hosts, brought together: what turns the ticks of any rank into nanoseconds of one clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/record/trace.hpp"

namespace rmq::trace {

/// Nanoseconds of a clock, at most two years away from zero: damaged files have any number there, and times are added
/// and subtracted.
inline std::int64_t bounded_ns(double ns) {
  constexpr auto kMost = std::int64_t{1} << 56;
  const auto most = static_cast<double>(kMost);
  return ns >= most ? kMost : ns > -most ? static_cast<std::int64_t>(ns) : -kMost;
}

/// Whether a rank can have read these clocks: no time that comes of them overflows.
bool plausible_clocks(const TraceHeader& header);

/// How the ticks of one host become nanoseconds of the launcher's CLOCK_MONOTONIC.
class HostClock {
 public:
  HostClock() = default;
  /// As one rank of the host has seen it. Without a measured offset (offset_known()) it is this host's own clock.
  explicit HostClock(const TraceHeader& header);

  std::int64_t ns(std::uint64_t ticks) const {
    const double since = static_cast<double>(static_cast<std::int64_t>(ticks - ticks_)) * rate_;
    return start_ns_ + bounded_ns(since + (since < 0 ? -0.5 : 0.5));
  }
  bool offset_known() const { return known_; }
  /// Length of the observation that gave the rate, ns.
  std::uint64_t observed_ns() const { return observed_ns_; }
  /// What to add to get the date, ns since 1970, as it was at the start.
  std::int64_t to_date() const { return wall_ns_ - start_ns_; }
  void move(std::int64_t by) { start_ns_ += by; }

 private:
  std::uint64_t ticks_ = 0;
  std::int64_t start_ns_ = 0, wall_ns_ = 0;  // at `ticks_`
  double rate_ = 1;                          // ns a tick, the drift against the launcher's clock included
  std::uint64_t observed_ns_ = 0;
  bool known_ = false;
};

class Clocks {
 public:
  /// Of these recordings; at least one. Ranks of a host share the clock that was observed longest, so that their order
  /// is as exact as the CPU's counter. A host whose offset was never measured is placed by its date.
  explicit Clocks(std::span<const TraceHeader* const> headers);

  const HostClock& of(unsigned host) const { return hosts_.at(host); }
  /// Whether times of different hosts can be compared to within microseconds.
  bool exact() const { return exact_; }
  /// The date of a time, ns since 1970.
  std::int64_t date(std::int64_t ns) const { return ns + to_date_; }
  /// What the reader should know: a line for each host whose date was set while the job ran.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::map<unsigned, HostClock> hosts_;
  std::int64_t to_date_ = 0;
  bool exact_ = true;
  std::vector<std::string> notes_;
};

}  // namespace rmq::trace
