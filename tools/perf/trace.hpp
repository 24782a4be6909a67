// SPDX-License-Identifier: BSD-3-Clause
// What recording costs: the latency of 8 bytes over shared memory without, with the flight recorder, and with a full
// trace; and the time of one event.
#pragma once

#include <string>

#include "base/error.hpp"
#include "tools/perf/plan.hpp"

namespace rmq::perf {

/// Runs them in turn, `options.rounds` times, in `folder` (which takes the traces), and returns a table of medians.
/// Errc::system when a run fails.
Result<std::string> trace_cost(const Implementation& rmq, const Options& options, const std::string& folder);

}  // namespace rmq::perf
