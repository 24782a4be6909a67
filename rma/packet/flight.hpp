// SPDX-License-Identifier: BSD-3-Clause
// How much may be under way to a target of one window: bytes of packets, and of the answers that they ask for. A target
// that cannot execute at once keeps no more than this.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rmq::rma {

inline constexpr std::uint64_t kFlightMost = 2 * 1024 * 1024;
/// Bytes of data that one packet brings, most. Part of the protocol: what an RMA_GET_ACCUMULATE with no_op asks for is
/// this much, in whole elements, from `at` on. (An RMA_GET asks for all: its answer is not copied.)
inline constexpr std::uint64_t kPieceMost = 256 * 1024;
/// What a packet without data counts for.
inline constexpr std::uint64_t kPacketCost = 64;

/// Positions are bytes from the start of the window on.
class Flight {
 public:
  std::uint64_t position() const { return sent_; }
  /// Whether a packet that brings, or asks for, so much may join. One always may, however much it is.
  bool has_room(std::uint64_t bytes) const {
    const std::uint64_t flying = sent_ - settled_;
    return flying == 0 || flying + kPacketCost + bytes <= kFlightMost;
  }
  /// Such a packet leaves.
  void leave(std::uint64_t bytes) { sent_ += bytes + kPacketCost; }
  /// An answer that settles everything so far is on its way.
  void ask() { asked_ = sent_; }
  /// Whether an answer that makes room is on its way.
  bool is_asked() const { return asked_ > settled_; }
  /// Whether half of it is without a question: the answer makes room before the other half has left.
  bool is_half_unasked() const { return sent_ - asked_ >= kFlightMost / 2; }
  /// The target has dealt with everything up to there.
  void settle(std::uint64_t position) { settled_ = std::max(settled_, position); }
  /// Nothing is under way any more.
  void end() { settled_ = asked_ = sent_; }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace rmq::rma
