// How long data of one peer comes the fastest: by a single copy, or as packets through the ring, where both ranks copy
// at the same time. That depends on the machine, on whose cache the data lies in, and on which CPUs the two ranks have,
// which changes while they run (a virtual machine of 2 CPUs moves 1 MB in 43 and 37 us when these share a cache, else
// in 46 and 450). So each message is a measurement, and now and then one goes the other way to keep both figures true.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "methods/method.hpp"

namespace rmq::shm {

/// Of one peer. Not for threads: its rank's device asks.
class PullChoice {
 public:
  explicit PullChoice(std::uint64_t ring_bytes) : ring_bytes_(ring_bytes) {}

  /// The way for a message of so many bytes: get or ask.
  methods::Pull next(std::uint64_t bytes) const {
    const Size& s = sizes_[index(bytes)];
    return s.trying() ? other(s.best) : s.best;
  }

  /// A message has come that way. `from`, `to`: when its data was asked for, and when it was there, in any clock. What
  /// comes while another is on its way begins when that has ended.
  void measured(methods::Pull way, std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
    from = std::max(from, last_);
    last_ = std::max(to, last_);
    if (bytes == 0 || to <= from) return;
    Size& s = sizes_[index(bytes)];
    // The first who use the ring's memory find no pages there; shorter messages need less of it.
    const bool cold = s.asked < ring_bytes_;
    if (way == methods::Pull::ask) s.asked += bytes;
    if (cold) return;
    const double cost = static_cast<double>(to - from) / static_cast<double>(bytes);
    if (way == s.best) {
      // A rank that has lost its CPU in the middle says nothing of the way.
      if (s.cost == 0) s.usual = cost;
      s.cost = s.cost == 0 ? cost : s.cost + (std::min(cost, s.cost * kMost) - s.cost) * kWeight;
      s.usual = std::min(s.usual, s.cost);
      if (s.cost > s.usual * kChanged) {  // more than once in a row: the ranks have moved
        s.wait(kOften);
      } else if (!s.trying()) {
        --s.left;
      } else {  // the other way was not to be had
        s.wait(s.interval);
      }
      return;
    }
    if (!s.trying()) return;  // on its way since before
    if (cost < s.cost) {
      s.best = way;
      s.cost = cost;
      return s.wait(kOften);
    }
    if (++s.tries == kTries || cost > s.cost * kHopeless) s.wait(std::min(s.interval * 4, kSeldom));
  }

 private:
  // Messages between two attempts the other way: as often after a change, as seldom while that is slower.
  static constexpr std::uint32_t kOften = 4, kSeldom = 4096;
  // Messages of an attempt, of which the fastest counts. One that takes so many times as long ends it.
  static constexpr std::uint32_t kTries = 4;
  static constexpr double kHopeless = 3;
  static constexpr double kWeight = 0.25, kMost = 4, kChanged = 2.5;
  static constexpr int kLeast = 14, kSizes = 8;  // from 16 KB on, each twice the one before; the last: 2 MB and above

  struct Size {
    methods::Pull best = methods::Pull::ask;
    double cost = 0;   // of a byte, the best way; 0: not known
    double usual = 0;  // the least of it since the last attempt
    std::uint32_t interval = kOften, left = kOften;
    std::uint32_t tries = 0;  // in this attempt
    std::uint64_t asked = 0;  // bytes that have come as packets
    bool trying() const { return left == 0; }
    void wait(std::uint32_t messages) {
      left = interval = messages;
      usual = cost;
      tries = 0;
    }
  };

  static methods::Pull other(methods::Pull way) {
    return way == methods::Pull::ask ? methods::Pull::get : methods::Pull::ask;
  }
  static std::size_t index(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::clamp(static_cast<int>(std::bit_width(bytes)) - 1 - kLeast, 0, kSizes - 1));
  }

  std::array<Size, kSizes> sizes_{};
  std::uint64_t ring_bytes_;
  std::uint64_t last_ = 0;
};

}  // namespace rmq::shm
