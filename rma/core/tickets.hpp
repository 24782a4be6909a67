// SPDX-License-Identifier: BSD-3-Clause
// The answers that channels of one device wait for. A ticket names one on the wire; it is taken before the packet that
// asks leaves, and freed when the answer has come.
//
// A ticket travels as index + 1 (24 bits) and generation (8 bits), so that 0 is none and late answers are seen. When
// all are in use, a channel stands in line (starve) and goes on when one is free (next_to_feed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rank.hpp"

namespace rmq::rma {

class Channel;
struct Op;

/// What an answer refers to: an operation, or (op null) everything on a channel up to `number`.
struct Ticket {
  Channel* channel = nullptr;  // null: free
  Op* op = nullptr;
  std::uint64_t number = 0;
  std::uint64_t position = 0;   // of the channel's flight: everything sent up to here
  Rank to = kNoRank;            // who may answer
  std::uint8_t generation = 0;  // part of what travels
  bool orphan = false;          // its window has ended before the answer
};

class Tickets {
 public:
  bool has_one() const { return !free_.empty() || all_.size() < most_; }
  /// Needs has_one(). What travels.
  std::uint32_t take(Channel& channel, Rank to, Op* op, std::uint64_t number, std::uint64_t position);
  /// The ticket that `from` may answer, or null.
  const Ticket* find(std::uint32_t wire, Rank from) const;
  /// Whether what it named belonged to a window that has ended.
  bool is_orphan(std::uint32_t wire) const;
  /// Frees one that is in use; what it was.
  Ticket free(std::uint32_t wire);

  /// The channel goes on (Channel::fed) when there is a ticket.
  void starve(Channel& channel) { starved_.push_back(&channel); }
  /// The channel whose turn it is to go on, if there is a ticket; else null.
  Channel* next_to_feed();

  /// Nothing comes on this channel any more: `end(op)` ends each operation whose answer is waited for, which frees its
  /// ticket.
  template <class End>
  void drop(const Channel& channel, End&& end) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Ticket t = all_[i];
      if (t.channel != &channel) continue;
      if (t.op)
        end(t.op);
      else
        free((static_cast<std::uint32_t>(i) + 1) << 8 | t.generation);
    }
  }
  /// A window ends, whose channels these are: answers that still come name nobody.
  template <class IsOfWindow>
  void orphan(IsOfWindow&& is_of_window) {
    for (Ticket& t : all_) {  // none, unless it ends early
      if (!t.channel || !is_of_window(*t.channel)) continue;
      t.channel = nullptr;
      t.orphan = true;
    }
    std::erase_if(starved_, [&](const Channel* c) { return is_of_window(*c); });
  }

  /// For tests: how many there are, at least 1.
  void limit(std::size_t most) { most_ = most; }

 private:
  static std::size_t index(std::uint32_t wire) { return (wire >> 8) - 1; }

  std::vector<Ticket> all_;
  std::vector<std::uint32_t> free_;
  std::size_t most_ = (std::size_t{1} << 24) - 1;  // an index travels in 24 bits
  std::vector<Channel*> starved_;
};

}  // namespace rmq::rma
