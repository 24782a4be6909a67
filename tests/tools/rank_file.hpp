// SPDX-License-Identifier: BSD-3-Clause
// A rank's file of a trace, made by a test: whatever records it wants, by the stream that ranks write with.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/record/trace_stream.hpp"

namespace rmq::trace {

class RankFile {
 public:
  /// A tick is a nanosecond, from 1 s on; offset 0 to the launcher's clock, known exactly. Ends the program when the
  /// file cannot be made.
  RankFile(const std::string& folder, const TraceOwner& owner) {
    if (!stream_.open(fmt::format("{}/rank-{}.rmqtrace", folder, owner.rank), owner, 0)) std::abort();
    TraceHeader& h = stream_.header();
    h.ns_per_tick = 1;
    h.ticks_start = h.mono_ns_start = h.wall_ns_start = 1'000'000'000;
    h.error_ns_start = h.error_ns_end = 0;
  }

  /// The header in the file, to be changed.
  TraceHeader& header() { return stream_.header(); }

  /// Adds a record, with as many units as its packet needs; `carries`: it has one.
  void add(const TraceRecord& record, bool carries) {
    TraceRecord r = record;
    Packet p;
    std::memcpy(static_cast<void*>(&p), r.packet, sizeof p);
    r.units = static_cast<std::uint16_t>(trace_units(carries ? &p : nullptr));
    TraceRecord* to = stream_.reserve();
    if (!to) std::abort();
    std::memcpy(static_cast<void*>(to), &r, r.units * kTraceUnit);
    stream_.publish(r.units);
  }
  void event(std::uint64_t ticks, Event e, int peer, std::uint64_t a0 = 0, std::uint64_t a1 = 0) {
    add(make(ticks, e, peer, a0, a1), false);
  }
  void packet(std::uint64_t ticks, Event e, int peer, const Packet& p, std::uint64_t a0 = 0, std::uint64_t a1 = 0) {
    TraceRecord r = make(ticks, e, peer, a0, a1);
    std::memcpy(r.packet, &p, sizeof p);
    add(r, true);
  }
  /// The rank comes to its proper end.
  void finish(std::uint64_t ticks) {
    TraceHeader& h = stream_.header();
    h.ticks_end = ticks;
    h.mono_ns_end = h.mono_ns_start + (ticks - h.ticks_start);
    h.wall_ns_end = h.wall_ns_start + (ticks - h.ticks_start);
  }

 private:
  static TraceRecord make(std::uint64_t ticks, Event e, int peer, std::uint64_t a0, std::uint64_t a1) {
    TraceRecord r{};
    r.ticks = ticks;
    r.event = e;
    r.method = peer < 0 ? 0 : 3;
    r.peer = peer;
    r.a0 = a0;
    r.a1 = a1;
    return r;
  }
  TraceStream stream_;
};

}  // namespace rmq::trace
