// SPDX-License-Identifier: BSD-3-Clause
// How long data of one peer comes the fastest: by a single copy, or as packets through the ring, where both ranks copy
// at the same time. That depends on the machine, on whose cache the data lies in, and on which CPUs the two ranks have,
// which changes while they run (a virtual machine of 2 CPUs moves 1 MB in 43 and 37 us when these share a cache, else
// in 46 and 450). So each is a measurement, and now and then one goes the other way to keep both figures true.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "methods/method.hpp"

namespace rmq::shm {

/// Long data that has come to this rank, whoever from, the same way and without a pause. Messages that are under way
/// together share the time; what comes next shows whether there were any, and so a period is told when that has come.
class PullPeriods {
 public:
  struct Period {
    methods::Pull way;
    std::uint32_t peer = 0;     // of the longest message
    std::uint64_t message = 0;  // its bytes
    std::uint64_t asked = 0;    // when the first was asked for, in ticks of any clock
    std::uint64_t from = 0, to = 0;
    std::uint64_t bytes = 0;
    /// Of a byte; 0: it cannot be told.
    double cost() const { return to > from ? static_cast<double>(to - from) / static_cast<double>(bytes) : 0; }
  };

  /// A message has come, which was asked for at `from`. The period that is over with it, if one is.
  std::optional<Period> add(methods::Pull way, std::uint32_t peer, std::uint64_t bytes, std::uint64_t from,
                            std::uint64_t to) {
    if (now_ && to < now_->to) *this = {};  // the clock has been set back
    std::optional<Period> over;
    std::uint64_t& last = last_[way == methods::Pull::ask];
    if (!now_ || from >= now_->to || way != now_->way || now_->bytes > kLong) {
      // What was under way in a pause, or while others came the other way, began before.
      floor_ = now_ && from >= now_->to ? 0 : last;
      over = std::exchange(now_, Period{.way = way, .asked = from, .from = std::max(from, floor_)});
    }
    now_->asked = std::min(now_->asked, from);
    now_->from = std::min(now_->from, std::max(from, floor_));
    now_->to = last = to;
    now_->bytes += bytes;
    if (bytes >= now_->message) {
      now_->peer = peer;
      now_->message = bytes;
    }
    return over;
  }

 private:
  static constexpr std::uint64_t kLong = 32 << 20;  // of a stream that never pauses
  std::optional<Period> now_;
  std::uint64_t floor_ = 0;              // where it begins at the earliest
  std::array<std::uint64_t, 2> last_{};  // when the latest message has come, by get and as packets
};

/// Of one peer. Not for threads: its rank's device asks.
class PullChoice {
 public:
  explicit PullChoice(std::uint64_t ring_bytes) : ring_bytes_(ring_bytes) {}

  /// The way for a message of so many bytes: get or ask. Its time will be told.
  methods::Pull next(std::uint64_t bytes) const {
    const Size& s = sizes_[index(bytes)];
    return s.trying() && is_measured(bytes) ? other(s.best) : s.best;
  }
  /// The same for what is not measured.
  methods::Pull best(std::uint64_t bytes) const { return sizes_[index(bytes)].best; }

  /// Messages have come, the longest from this peer.
  void measured(const PullPeriods::Period& period, std::uint64_t now) {
    const double cost = period.cost();
    if (!is_measured(period.message) || cost <= 0) return;
    Size& s = sizes_[index(period.message)];
    // The first who use the ring's memory find no pages there; shorter messages need less of it.
    const bool cold = s.asked < ring_bytes_;
    if (period.way == methods::Pull::ask) s.asked += period.bytes;
    if (now < s.since) s.since = now;  // the clock has been set back
    if (cold || period.asked < s.since) return;
    if (period.way != s.best) {
      if (s.trying()) s.tried(period.way, cost, now);
      return;
    }
    // A rank that has lost its CPU in the middle says nothing of the way.
    if (s.cost == 0) s.cost = s.usual = cost;
    s.cost += (std::min(cost, s.cost * kMost) - s.cost) * kWeight;
    s.usual = std::min(s.usual, s.cost);
    if (s.cost > s.usual * kChanged) {  // more than once in a row: the ranks have moved
      s.wait(kOften, now);
    } else if (!s.trying()) {
      if (--s.left == 0) s.since = now;
    } else {  // the other way was not to be had
      s.left = s.interval = std::min(s.interval * 2, kUnheard);
    }
  }

  /// A get has not been possible: that memory is none that the kernel copies.
  void refused(std::uint64_t bytes) {
    Size& s = sizes_[index(bytes)];
    if (s.best == methods::Pull::ask) return s.lost(s.since);
    s.best = methods::Pull::ask;
    s.cost = 0;
    s.wait(kOften, s.since);
  }

 private:
  // Periods between two attempts the other way: as often after a change, as seldom while that is slower, or while the
  // sender does not wait when its turn has come.
  static constexpr std::uint32_t kOften = 4, kSeldom = 4096, kUnheard = 256;
  // Periods of an attempt; the first, which finds other memory in the caches, does not count. One that takes so many
  // times as long ends it, and so does one that takes half the time; else the mean has to be so much less.
  static constexpr std::uint32_t kTries = 5;
  static constexpr double kHopeless = 3, kBetter = 0.85;
  static constexpr double kWeight = 0.25, kMost = 4, kChanged = 2.5;
  static constexpr int kLeast = 14, kSizes = 8;  // from 16 KB on, each twice the one before; the last: 2 MB and above

  struct Size {
    methods::Pull best = methods::Pull::ask;
    double cost = 0;   // of a byte, the best way; 0: not known
    double usual = 0;  // the least of it since the last attempt
    std::uint32_t interval = kOften, left = kOften;
    std::uint64_t since = 0;  // the attempt began, or the one before ended: what was asked for earlier counts no more
    std::uint32_t tries = 0;  // in this attempt
    double tries_cost = 0;    // of those that count, together
    std::uint64_t asked = 0;  // bytes that have come as packets

    bool trying() const { return left == 0; }
    void wait(std::uint32_t periods, std::uint64_t now) {
      left = interval = periods;
      since = now;
      usual = cost;
      tries = 0;
      tries_cost = 0;
    }
    /// The attempt has shown nothing better.
    void lost(std::uint64_t now) { wait(std::min(interval * 4, kSeldom), now); }
    void tried(methods::Pull way, double took, std::uint64_t now) {
      if (took > cost * kHopeless) return lost(now);
      if (++tries > 1) tries_cost += took;
      const bool clear = took < cost / 2;
      const double mean = tries_cost / std::max(tries - 1, 1u);
      if (clear || (tries == kTries && mean < cost * kBetter)) {
        best = way;
        cost = clear ? took : mean;
        wait(kOften, now);
      } else if (tries == kTries) {
        lost(now);
      }
    }
  };

  static methods::Pull other(methods::Pull way) {
    return way == methods::Pull::ask ? methods::Pull::get : methods::Pull::ask;
  }
  static bool is_measured(std::uint64_t bytes) { return bytes >= std::uint64_t{1} << kLeast; }
  static std::size_t index(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::clamp(static_cast<int>(std::bit_width(bytes)) - 1 - kLeast, 0, kSizes - 1));
  }

  std::array<Size, kSizes> sizes_{};
  std::uint64_t ring_bytes_;
};

}  // namespace rmq::shm
