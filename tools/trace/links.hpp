// SPDX-License-Identifier: BSD-3-Clause
// What is on its way between ranks at some moment of a merged trace: it brings the two ends of each packet together.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "base/packet/packet.hpp"

namespace rmq::trace {

/// A packet that has left and not arrived.
struct Departure {
  std::int64_t ns = 0;
  std::uint64_t flow = 0;
  Packet packet;
};

/// One direction of a pair of ranks. Packets arrive in the order in which they left, over any method, so that the first
/// that looks the same is the one.
class Link {
 public:
  /// How far a packet is searched for where its neighbours are missing.
  static constexpr std::size_t kFar = 4096;

  void depart(const Departure& d) { open_.push_back(d); }

  /// Takes the departure of `p` out; false: it has not left, as far as can be seen.
  bool arrive(const Packet& p, Departure& out);

  /// Whether a packet that is not there need not be waited for: too many others have left.
  bool crowded() const { return open_.size() >= kFar; }

  /// All but what the method writes, which the sender's record may not have yet.
  static bool same(const Packet& a, const Packet& b);

  bool waits = false;  // the receiver cannot go on before its next packet has left

 private:
  std::list<Departure> open_;  // not a deque, which takes 600 bytes when empty: a job has a link for each pair of ranks
};

class Links {
 public:
  Link& of(int from, int to) { return links_[key(from, to)]; }
  void forget(int from, int to) { links_.erase(key(from, to)); }

 private:
  static std::uint64_t key(int from, int to) {
    return std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to);
  }
  std::unordered_map<std::uint64_t, Link> links_;
};

}  // namespace rmq::trace
