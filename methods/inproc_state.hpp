// SPDX-License-Identifier: BSD-3-Clause
// What an InprocWorld keeps: frames on links, transfers, endpoints. Private to methods/inproc*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "methods/inproc.hpp"

namespace rmq::methods {

/// One packet under way. Three byte counts describe its payload: landed <= departed <= data.size().
struct InprocWorld::Frame {
  Packet packet;
  std::vector<std::byte> data;  // filled up to `departed`
  std::uint64_t departed = 0;   // bytes that have left the sender's memory
  std::uint64_t landed = 0;     // bytes that the receiver has taken, when in_pieces
  std::uint64_t due = 0;        // not taken in before this time, ns
  Payload payload;              // the sender's memory; meaningful while owner is set
  Request* owner = nullptr;     // of a queued send, until it is told
  bool in_pieces = false;       // arrives through on_arriving … on_landed
};

/// Frames from one rank to another, in order. Owned by the receiving endpoint.
struct InprocWorld::Link {
  Rank from = kNoRank;
  Rank to = kNoRank;
  std::deque<Frame> frames;
  std::uint32_t numbered = 0;  // packets so far
  std::size_t departing = 0;   // frames whose owner has not been told yet
  std::uint64_t due = 0;       // of the last frame: later ones are never due earlier
  bool arriving = false;       // the first frame has been announced; `landing` is where it goes
  Landing landing;
  Packet announced;     // while arriving; the frame is gone when its sender has lost the receiver first
  bool ending = false;  // the sender has died: after `keep` more frames comes the loss
  std::size_t keep = 0;
  std::uint64_t loss_due = 0;  // not before this time, ns
  std::string why;             // the rank is lost; empty: it has died

  bool can_deliver(std::uint64_t now) const {
    if (frames.empty() || frames.front().due > now || (ending && keep == 0)) return false;
    const Frame& f = frames.front();
    if (!f.in_pieces) return f.departed == f.data.size();
    return !arriving || f.departed > f.landed;
  }
};

/// A get or put that finishes later.
struct InprocWorld::Transfer {
  Rank peer;
  DataView remote, local;
  std::uint64_t bytes, moved;
  std::uint64_t due;  // ns
  bool is_get;
  Request* owner;
};

/// The owner of a send that has left, not told yet.
struct InprocWorld::Untold {
  Rank to;
  Request* owner;
  std::uint64_t due;  // ns
};

struct InprocWorld::Endpoint {
  Rank rank = kNoRank;
  const Sink* sink = nullptr;             // nullptr: not open (yet, or any more)
  std::vector<std::unique_ptr<Link>> in;  // in order of first use
  std::vector<Link*> out;                 // in order of first use
  std::unordered_map<Rank, Link*> out_by_rank;
  std::vector<Link*> ready;  // poll's scratch
  std::vector<Transfer> transfers;
  std::vector<Untold> untold;
  std::size_t departing = 0;  // over all links out
  std::vector<Rank> refused;  // to whom a send has been refused, and who is to be told when there is room
  std::unordered_set<Rank> lost;
  bool dead = false;      // killed
  bool closed = false;    // left in order
  bool mourning = false;  // some peer's loss is still to be told
};

}  // namespace rmq::methods
