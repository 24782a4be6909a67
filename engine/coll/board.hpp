// SPDX-License-Identifier: BSD-3-Clause
// The board of a communicator whose members all live on one host: a piece of the host's shared memory where they meet,
// each with a few stores and loads instead of messages.
//
//    come | answer | place x members, twice
//
// Rounds are numbered, and each member comes to each of them. It puts down what it brings in its place and then either
//
//   all read     says which round that is: whoever finds everybody's place at that round has what all have brought.
//                A line of memory from each to each, at the same time: for few members, none of whom waits for a CPU.
//   one answers  counts itself in; the last to come finds all places filled, combines what they hold and answers, and
//                the answer opens the round. Two lines a member, and one turn at the CPU: for any number.
//
// A place has two sides, for odd and for even rounds: a member that is a round ahead fills the other one, and none can
// be two ahead, because the round between needs everybody. So all may read all places once the round is open, also
// where one answers. There is one answer: whoever overwrites it has found that all have come to the next round, and so
// have read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"

namespace rmq::mpi::coll {

/// What a member brings to a round, or takes away. More than kMost bytes lie beside it.
struct Brought {
  static constexpr std::size_t kMost = 48;  // bytes: with the rest a line of memory
  std::uint32_t kind = 0;                   // of the collective: equal everywhere, or the program is wrong
  std::uint32_t bytes = 0;
  alignas(8) std::array<std::byte, kMost> data;
};

class Board {
 public:
  /// Bytes that a member can bring where nobody combines them.
  static constexpr std::size_t kRowMost = 3 * kCacheLine;

  /// Bytes for so many members.
  static std::size_t bytes(int members) {
    return sizeof(Shared) + 2 * static_cast<std::size_t>(members) * sizeof(Place);
  }
  /// Makes one in memory that is aligned to a line. Once, before anybody opens it.
  static void make(void* memory, int members) {
    new (memory) Shared{};
    auto* const places = reinterpret_cast<Place*>(static_cast<std::byte*>(memory) + sizeof(Shared));
    for (int i = 0; i < 2 * members; ++i) new (places + i) Place{};
  }
  /// The board in this memory as member `me` sees it; alike on all members but for `me`.
  Board(void* memory, int members, int me, bool one_answers)
      : shared_(static_cast<Shared*>(memory)),
        places_(reinterpret_cast<Place*>(static_cast<std::byte*>(memory) + sizeof(Shared))),
        members_(members),
        me_(me),
        one_answers_(one_answers) {}

  int members() const { return members_; }
  bool one_answers() const { return one_answers_; }
  std::uint32_t round() const { return round_; }

  /// Comes to the next round. True: this member is the last, and has to answer().
  bool come(std::uint32_t kind, const void* data, std::size_t bytes) {
    ++round_;
    seen_ = 0;
    Place& mine = place(me_);
    os::writes_plain(&mine.brought);
    mine.brought.kind = kind;
    mine.brought.bytes = static_cast<std::uint32_t>(bytes);
    if (bytes > 0) std::memcpy(bytes <= Brought::kMost ? mine.brought.data.data() : mine.row.data(), data, bytes);
    // Release pairs with has_come(): what this member has brought, and all it did before.
    mine.round.store(round_, std::memory_order_release);
    if (!one_answers_) return false;
    // Acquire and release: the last one knows of all, by the chain of these. Counts may wrap.
    const std::uint32_t come = shared_->come.fetch_add(1, std::memory_order_acq_rel) + 1;
    return come == round_ * static_cast<std::uint32_t>(members_);
  }
  /// Opens the round to all.
  void answer(const Brought& result) {
    os::writes_plain(&shared_->answer.brought);
    shared_->answer.brought = result;
    shared_->answer.round.store(round_, std::memory_order_release);  // pairs with the acquire in is_open()
  }
  /// Whether this member may go on: read what all have brought, or the answer.
  bool is_open() const {
    // Acquire pairs with answer(): the result, and what all did before they came.
    if (one_answers_) return shared_->answer.round.load(std::memory_order_acquire) == round_;
    while (seen_ < members_ && has_come(seen_)) ++seen_;
    return seen_ == members_;
  }
  /// Whether the member has come to this round.
  bool has_come(int member) const { return place(member).round.load(std::memory_order_acquire) == round_; }
  /// Of the round that is open, or that this member has to answer.
  const Brought& brought(int member) const { return place(member).brought; }
  /// The bytes of brought(member).
  const std::byte* row(int member) const {
    const Place& p = place(member);
    return p.brought.bytes <= Brought::kMost ? p.brought.data.data() : p.row.data();
  }
  /// Of the round that is open.
  const Brought& answered() const { return shared_->answer.brought; }

 private:
  struct alignas(kCacheLine) Place {
    Atomic<std::uint32_t> round{0};
    Brought brought;
    std::array<std::byte, kRowMost> row;  // not touched for what fits before it
  };
  static_assert(sizeof(Place) == kCacheLine + kRowMost);
  struct Shared {
    alignas(kCacheLine) Atomic<std::uint32_t> come{0};  // members, in all rounds together
    Place answer;
  };

  Place& place(int member) const { return places_[2 * member + static_cast<int>(round_ & 1)]; }

  Shared* shared_;
  Place* places_;
  int members_, me_;
  bool one_answers_;
  std::uint32_t round_ = 0;
  mutable int seen_ = 0;  // all before this one have come to the round
};

}  // namespace rmq::mpi::coll
