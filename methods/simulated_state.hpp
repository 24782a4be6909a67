// SPDX-License-Identifier: BSD-3-Clause
// What the world of the method `simulated` keeps: for its two sources only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "methods/simulated.hpp"

namespace rmq::methods::sim {

inline constexpr std::size_t kStack = 128 * 1024;  // of a rank; pages that it does not use cost nothing
// At a stack's low end: a rank that has overwritten it has gone beyond.
inline constexpr std::uint64_t kEndMark = 0x5ca1ab1e0ddba11;

inline std::uint64_t ns(double x) {
  return static_cast<std::uint64_t>(std::llround(x));
}

}  // namespace rmq::methods::sim

namespace rmq::methods {

/// A packet on its way. Its payload, if it is carried, lies behind it.
struct SimWorld::Frame {
  Packet packet;
  std::uint64_t due;     // ns
  std::uint64_t number;  // of all frames: those that are due at once in the order of their sends
  Rank from;
  bool carried;
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  bool operator<(const Frame& other) const { return due != other.due ? due < other.due : number < other.number; }

  static Frame* make(const Packet& packet, std::uint64_t carried) {
    void* const memory = std::malloc(sizeof(Frame) + carried);
    if (!memory) throw std::bad_alloc();
    return new (memory) Frame{packet, 0, 0, kNoRank, carried > 0};
  }
  struct Free {
    void operator()(Frame* f) const { std::free(f); }
  };
};

struct SimWorld::Endpoint {
  Rank rank = kNoRank;
  int host = 0;
  const Sink* sink = nullptr;                           // nullptr: not open
  std::uint64_t clock = 0;                              // ns
  double rest = 0;                                      // of a ns, not yet on the clock
  std::vector<std::unique_ptr<Frame, Frame::Free>> in;  // a heap, the first to come on top
  std::uint32_t numbered = 0;                           // packets that have come
  std::unique_ptr<os::Fiber> fiber;
  std::uint64_t turn = 0;  // number of its entry in turns_; 0: none. Other entries of it are stale
  std::uint64_t turn_at = 0;
  bool asleep = false;
  bool woken = false;  // something in shared memory has changed since it looked
  bool has_cpu = false;
  bool wants_cpu = false;  // it is in the queue for one
  bool ended = true;       // its program
  bool gone = true;        // its fiber has ended, too

  static bool later(const std::unique_ptr<Frame, Frame::Free>& a, const std::unique_ptr<Frame, Frame::Free>& b) {
    return *b < *a;
  }
};

struct SimWorld::Host {
  double out_free = 0, in_free = 0;  // when its network interface has sent, and taken in, what it has, ns
};

/// Those that some ranks share.
struct SimWorld::Cpus {
  int ranks = 0;           // that share them
  std::vector<Rank> last;  // by CPU that is idle: who had it
  int idle = 0;
  std::deque<Rank> ready;  // ranks that wait for one
};

}  // namespace rmq::methods
