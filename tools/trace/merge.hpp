// SPDX-License-Identifier: BSD-3-Clause
// The files of all ranks as one stream of events by time, in which no packet arrives before it has left.
//
// Each rank is a lane: a cursor and the event that comes next. The earliest of these is the next of the stream. Clocks
// of hosts may disagree, and a rank may lose its CPU between the hand-over of a packet and the record of it; so an
// arrival whose departure has not passed yet parks its lane, until the departure has. It is put behind that, and the
// rest of the lane with it where needed. Nothing else is kept: memory is a buffer for each rank and the packets on
// their way.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/trace/clock.hpp"
#include "tools/trace/entry.hpp"
#include "tools/trace/file.hpp"
#include "tools/trace/links.hpp"

namespace rmq::trace {

class Merge {
 public:
  struct Options {
    bool causal = true;             // lanes park; else the times are those of the clocks
    std::int64_t from = INT64_MIN;  // events may be left out before …
    std::int64_t to = INT64_MAX;    // … and are left out after this time of the clocks
  };
  /// The files, sorted by rank, and the clocks must outlive it.
  Merge(const std::vector<const TraceFile*>& files, const Clocks& clocks, Options options);

  /// The next event, `ns` by the launcher's CLOCK_MONOTONIC; nullptr at the end, or when a file is damaged(). Valid
  /// until the next call.
  const Entry* next();

  /// The file that cannot be read any further; nullptr: all is well.
  const TraceFile* damaged() const { return damaged_; }
  /// How many of its events could.
  std::uint64_t sound_events() const { return sound_events_; }
  /// Bytes of records gone through.
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Lane {
    Lane(const TraceFile& f, const HostClock& c, std::size_t buffer) : file(&f), clock(&c), cursor(f, buffer) {}
    const TraceFile* file;
    const HostClock* clock;
    Cursor cursor;
    Entry head;
    bool settled = false;          // the head has been brought together with its departure, or never will be
    std::int64_t now = INT64_MIN;  // a rank's own order holds, whatever its clock says
    enum : std::uint8_t { ready, parked, ended } state = ready;
  };
  using Index = std::uint32_t;  // of a lane
  struct Candidate {
    std::int64_t ns;
    Index lane;
    bool operator>(const Candidate& o) const { return ns != o.ns ? ns > o.ns : lane > o.lane; }
  };

  void load(Index i);
  void push(Index i);
  Index pop();
  bool settle(Index i);
  void join(Lane& lane, const Departure& d);
  void depart(Entry& e);
  void release(Index i);
  bool release_earliest();
  void end(Index i);
  Index lane_of(int rank) const;

  static constexpr Index kNone = ~Index{0};
  Options options_;
  std::vector<Lane> lanes_;
  std::vector<Index> of_rank_;
  std::vector<Candidate> heap_;  // the lanes that are ready, the earliest on top
  Links links_;
  Index taken_ = kNone;  // the lane whose head was given away
  std::int64_t now_ = INT64_MIN;
  std::uint64_t flows_ = 0, bytes_ = 0, sound_events_ = 0;
  const TraceFile* damaged_ = nullptr;
};

}  // namespace rmq::trace
