// SPDX-License-Identifier: BSD-3-Clause
// When a small packet may wait for the next one, so that a burst of sends shares a system call (and the whole path
// through the kernel, 2-3 us each) without delaying anybody.
//
// The first packet after a poll() goes out at once. Further ones to the same rank wait in the outbox when they follow
// within kGap, and leave with the next poll(), or when 32 KB have gathered, or with the next packet that may not wait.
// Only packets with an owner wait, as `queued`: the sender's request stays incomplete until the kernel has the data, so
// whoever has seen its send complete need not call us again for it to arrive.
//
// A program that sends a burst and then computes without polling would hold its packets back. That shows at the next
// flush by their age; coalescing is then off for a while, doubling each time it happens again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rmq::tcp {

/// One per connection. Times are os::ticks().
class Burst {
 public:
  /// How many ticks kGap and kStale take; the same for all connections.
  struct Scale {
    std::uint64_t gap, stale;
    static constexpr std::uint64_t kGap = 20000, kStale = 100000;  // ns
  };

  /// Whether a packet with an owner may wait. `epoch` counts polls.
  bool may_wait(std::uint64_t epoch, std::uint64_t now, const Scale& scale) {
    if (epoch != epoch_ || now - last_ > scale.gap) return false;
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }

  /// A packet was taken. `waits`: it stays in the outbox by its own choice; otherwise it went to the socket, and so did
  /// what stood before it.
  void sent(std::uint64_t epoch, std::uint64_t now, bool waits, const Scale& scale) {
    epoch_ = epoch;
    last_ = now;
    if (!waits) {
      flushed(now, scale);
    } else if (oldest_ == 0) {
      oldest_ = now;
    }
  }

  /// The poll() that the last packet came behind.
  std::uint64_t last_epoch() const { return epoch_; }

  /// What waited goes to the socket now.
  void flushed(std::uint64_t now, const Scale& scale) {
    if (oldest_ == 0) return;
    if (now - oldest_ > scale.stale) {
      penalty_ = std::min(penalty_ * 2, kLongest);
      skip_ = penalty_;
    } else if (penalty_ > kShortest) {
      --penalty_;
    }
    oldest_ = 0;
  }

 private:
  static constexpr std::uint32_t kShortest = 32, kLongest = 65536;  // packets

  std::uint64_t epoch_ = 0;            // of the last packet
  std::uint64_t last_ = 0;             // when it was sent
  std::uint64_t oldest_ = 0;           // when the first of the waiting ones was; 0: none waits
  std::uint32_t skip_ = 0;             // packets that must not wait
  std::uint32_t penalty_ = kShortest;  // half of how many that will be after the next stale burst
};

}  // namespace rmq::tcp
