// SPDX-License-Identifier: BSD-3-Clause
// What the machine itself can do, without any MPI: the bounds that figures are held against.
#pragma once

#include "base/error.hpp"
#include "tools/perf/plan.hpp"

namespace rmq::perf {

/// Microseconds that a cache line takes from one CPU to another, one way: half a ping-pong of two threads, each bound
/// to a CPU of its own, of about `seconds`. What it says of the moment tells a slow phase of the machine from a fast
/// one.
double line_us(double seconds);

/// The same in a few milliseconds: what take_turns() asks right before and after each run.
double probe_us();

/// Figures of RMQ, and the machine's own, under the name "machine", in the rows that they bound: a bare cache line
/// (latency over shm), a bare ring of lines (rate), a copy (bandwidth, put_flush of megabytes), a ping-pong and a
/// stream over a bare loopback connection (tcp), fork and exec of a launcher and two programs (start-up). In turn
/// (turns.hpp). Errc::system: the machine's own could not be measured.
Result<Table> measure_limits(const std::vector<Implementation>& rmq, const Options& options);

/// Rows of both, with how far each is from its bound.
std::string limits_table(const Table& table);

}  // namespace rmq::perf
