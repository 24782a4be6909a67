// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/merge.hpp"

#include <algorithm>
#include <functional>

namespace rmq::trace {
namespace {

// Bytes of a lane's buffer: all of them together stay small with thousands of ranks.
std::size_t buffer_of(std::size_t lanes) {
  return std::clamp<std::size_t>((std::size_t{64} << 20) / std::max<std::size_t>(lanes, 1), 16 << 10, 256 << 10);
}

}  // namespace

Merge::Merge(const std::vector<const TraceFile*>& files, const Clocks& clocks, Options options) : options_(options) {
  lanes_.reserve(files.size());
  for (const TraceFile* f : files) {
    const auto rank = static_cast<std::size_t>(f->header().rank);
    if (of_rank_.size() <= rank) of_rank_.resize(rank + 1, kNone);
    of_rank_[rank] = static_cast<Index>(lanes_.size());
    lanes_.emplace_back(*f, clocks.of(f->header().host), buffer_of(files.size()));
    lanes_.back().head.rank = f->header().rank;
  }
  heap_.reserve(lanes_.size());
  for (Index i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (options_.from != INT64_MIN)
      lane.cursor.seek([&](std::uint64_t ticks) { return lane.clock->ns(ticks) < options_.from; });
    bytes_ += lane.cursor.at() * kTraceUnit;
    load(i);
  }
}

const Entry* Merge::next() {
  if (taken_ != kNone) load(taken_);
  taken_ = kNone;
  while (!damaged_ && (!heap_.empty() || release_earliest())) {
    const Index i = pop();
    Lane& lane = lanes_[i];
    const std::int64_t before = lane.head.ns;
    if (lane.head.receives() && !lane.settled && (!settle(i) || lane.head.ns != before)) {
      if (lane.settled) push(i);
      continue;
    }
    // A lane that was parked in vain does not turn time back.
    lane.now = lane.head.ns = now_ = std::max(now_, lane.head.ns);
    if (lane.head.sends()) depart(lane.head);
    taken_ = i;
    return &lane.head;
  }
  return nullptr;
}

// The lane's next event becomes its head.
void Merge::load(Index i) {
  Lane& lane = lanes_[i];
  const std::uint64_t before = lane.cursor.at();
  const Cursor::Step step = lane.cursor.next(lane.head.record);
  bytes_ += (lane.cursor.at() - before) * kTraceUnit;
  if (step == Cursor::Step::damaged) {
    damaged_ = lane.file;
    sound_events_ = lane.cursor.events();
    return;
  }
  const std::int64_t ns = step == Cursor::Step::event ? lane.clock->ns(lane.head.record.ticks) : INT64_MAX;
  if (step == Cursor::Step::end || ns > options_.to) return end(i);
  lane.head.ns = std::max(ns, lane.now);
  lane.head.flow = 0;
  lane.settled = false;
  push(i);
}

void Merge::push(Index i) {
  lanes_[i].state = Lane::ready;
  heap_.push_back({lanes_[i].head.ns, i});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

Merge::Index Merge::pop() {
  const Index i = heap_.front().lane;
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  heap_.pop_back();
  return i;
}

// Brings an arrival together with its departure; false: that has not passed yet, and the lane is parked.
bool Merge::settle(Index i) {
  Lane& lane = lanes_[i];
  const Index sender = lane_of(lane.head.record.peer);
  if (sender == kNone) return lane.settled = true;
  Link& link = links_.of(lane.head.record.peer, lane.head.rank);
  Departure d;
  if (link.arrive(lane.head.packet(), d)) {
    join(lane, d);
    return true;
  }
  if (!options_.causal || lanes_[sender].state == Lane::ended || link.crowded()) return lane.settled = true;
  link.waits = true;
  lane.state = Lane::parked;
  return false;
}

void Merge::join(Lane& lane, const Departure& d) {
  lane.head.flow = d.flow;
  lane.head.sent_ns = d.ns;
  if (options_.causal) lane.head.ns = std::max(lane.head.ns, d.ns + 1);
  lane.settled = true;
}

void Merge::depart(Entry& e) {
  e.flow = ++flows_;
  const Index receiver = lane_of(e.record.peer);
  if (receiver == kNone || lanes_[receiver].state == Lane::ended) return;
  Link& link = links_.of(e.rank, e.record.peer);
  link.depart({e.ns, e.flow, e.packet()});
  if (!link.waits) return;
  Lane& lane = lanes_[receiver];
  Departure d;
  if (Link::same(e.packet(), lane.head.packet()) && link.arrive(lane.head.packet(), d)) join(lane, d);
  if (lane.settled || link.crowded()) release(receiver);
}

// A parked lane goes on, with its arrival brought together or not.
void Merge::release(Index i) {
  Lane& lane = lanes_[i];
  links_.of(lane.head.record.peer, lane.head.rank).waits = false;
  lane.settled = true;
  push(i);
}

// All lanes are at their end, or wait in a circle for what is not there.
bool Merge::release_earliest() {
  Index first = kNone;
  for (Index i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].state == Lane::parked && (first == kNone || lanes_[i].head.ns < lanes_[first].head.ns)) first = i;
  }
  if (first == kNone) return false;
  release(first);
  return true;
}

void Merge::end(Index i) {
  lanes_[i].state = Lane::ended;
  const int rank = lanes_[i].head.rank;
  for (Index other = 0; other < lanes_.size(); ++other) {
    links_.forget(lanes_[other].head.rank, rank);
    if (lanes_[other].state == Lane::parked && lanes_[other].head.record.peer == rank) release(other);
  }
}

Merge::Index Merge::lane_of(int rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < of_rank_.size() ? of_rank_[static_cast<std::size_t>(rank)]
                                                                       : kNone;
}

}  // namespace rmq::trace
