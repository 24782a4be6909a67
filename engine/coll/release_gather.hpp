// SPDX-License-Identifier: BSD-3-Clause
// Release and gather: how the ranks of one host move short data among them in memory that they share, each with a few
// stores and loads. R. Graham, G. Shipman, "MPI support for multi-core architectures: optimized shared memory
// collectives", 2008, and others before; here one speaker, and any number of members.
//
//    waiting | answer x sides | place of each member x sides | their data
//
// Rounds are numbered, and each member comes to each of them, in whichever order. Who speaks in a round all know.
//
//   gather   the members come with what they bring, and go on; the speaker waits for all, and reads it.
//   release  the members come with nothing and wait for the answer, which the speaker gives without waiting for them.
//
// What a round has written lies in its side, of which there are four: so members may be ahead of others by some rounds.
// Before a side is written again, those must be through who read it. Rounds go in laps of two: who has come to the
// first round of a lap is through with the lap before, and sides of that are free two laps later. So the speaker of a
// release waits until all have come to the lap before its own. So does whoever has brought something to a gather and
// wants to bring the next to the same side, unless it has heard from that speaker since. A member that comes to a lap
// looks whether anybody waits for that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"

namespace rmq::mpi::coll {

class ReleaseGather {
 public:
  /// What a member brings, or the answer: where the data is, and how many bytes.
  struct Said {
    const std::byte* data;
    std::uint64_t bytes;
    std::uint32_t kind;  // of the collective: equal everywhere, or the program is wrong
  };
  static constexpr std::uint64_t kPlaceMost = 2048;        // bytes that a member may bring
  static constexpr std::uint64_t kAnswerMost = 32 * 1024;  // bytes of an answer

  /// Bytes for so many members.
  static std::size_t bytes(int members) {
    return sizeof(Head) + static_cast<std::size_t>(members) * kSides * (sizeof(Line) + kPlaceMost);
  }
  /// Makes one in memory that is aligned to a line. Once, before anybody opens it.
  static void make(void* memory, int members) {
    auto* const head = static_cast<Head*>(memory);
    new (&head->waiting) Atomic<std::uint32_t>{0};
    for (Line& line : head->answers) new (&line) Line{};
    auto* const places = reinterpret_cast<Line*>(head + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(members) * kSides; ++i) new (places + i) Line{};
  }
  /// As member `me` sees it.
  ReleaseGather(void* memory, int members, int me)
      : head_(static_cast<Head*>(memory)),
        places_(reinterpret_cast<Line*>(head_ + 1)),
        data_(reinterpret_cast<std::byte*>(places_ + static_cast<std::size_t>(members) * kSides)),
        members_(members),
        me_(me) {
    read_by_.fill(kNobody);
  }

  int members() const { return members_; }
  std::uint32_t round() const { return round_; }

  // ---- a round: begin(), once has_room() come(), and then one of the pairs below ----

  void begin() {
    ++round_;
    seen_ = 0;
  }
  /// Whether this member may come; `speaks`: it is going to release. Once true it stays so.
  bool has_room(bool speaks) const {
    if (!speaks && read_by_[side()] == kNobody) return true;
    const std::uint32_t lap = round_ / kLap * kLap - kLap;
    if (!is_before(known_, lap)) return true;
    if (!have_all_come_to(lap)) return false;
    known_ = lap;
    seen_ = 0;
    return true;
  }
  /// Around a wait for room: who comes tells by come() that somebody waits.
  void wait_for_room() {
    head_->waiting.fetch_add(1, std::memory_order_relaxed);
    // Either the member that comes sees that this one waits, or this one sees that it has come.
    os::thread_fence(std::memory_order_seq_cst);  // come()
  }
  void end_wait_for_room() { head_->waiting.fetch_sub(1, std::memory_order_relaxed); }

  /// Where so many bytes are to be put that this member brings, before it comes.
  std::byte* place_for(std::uint64_t bytes) {
    Line& mine = place(me_);
    os::writes_plain(&mine);
    return bytes <= kNear ? mine.near.data() : far(me_);
  }
  /// With so many bytes, for the speaker to read; kNobody: with nothing, to a release. True: others may wait for room.
  bool come(std::uint32_t kind, std::uint64_t bytes, int speaker) {
    Line& mine = place(me_);
    if (speaker != kNobody) {
      mine.kind = kind;
      mine.bytes = static_cast<std::uint32_t>(bytes);
    }
    read_by_[side()] = speaker == me_ ? kNobody : speaker;
    // Release pairs with has_come_to(): what this member brings, and all that it has read before.
    mine.round.store(round_, std::memory_order_release);
    if (round_ % kLap != 0) return false;
    os::thread_fence(std::memory_order_seq_cst);  // wait_for_room()
    return head_->waiting.load(std::memory_order_relaxed) != 0;
  }

  // ---- of a gather, at its speaker ----
  bool have_all_come() const {
    if (!have_all_come_to(round_)) return false;
    known_ = round_;
    return true;
  }
  bool has_come(int member) const { return has_come_to(member, round_); }
  Said brought(int member) const {
    const Line& line = place(member);
    return {line.bytes <= kNear ? line.near.data() : far(member), line.bytes, line.kind};
  }

  // ---- of a release ----
  /// At its speaker, which has come: where to put so many bytes.
  std::byte* answer_for(std::uint64_t bytes) {
    Line& line = head_->answers[side()];
    os::writes_plain(&line);
    return bytes <= kNear ? line.near.data() : head_->long_answers[side()].data();
  }
  void answer(std::uint32_t kind, std::uint64_t bytes) {
    Line& line = head_->answers[side()];
    line.kind = kind;
    line.bytes = static_cast<std::uint32_t>(bytes);
    line.round.store(round_, std::memory_order_release);  // pairs with is_answered()
  }
  /// At the others.
  bool is_answered() const { return head_->answers[side()].round.load(std::memory_order_acquire) == round_; }
  Said answered() const {
    const Line& line = head_->answers[side()];
    return {line.bytes <= kNear ? line.near.data() : head_->long_answers[side()].data(), line.bytes, line.kind};
  }
  /// The answer was this member's: it has read what was brought to it in rounds before.
  void heard(int speaker) {
    for (int& reader : read_by_)
      if (reader == speaker) reader = kNobody;
  }

  static constexpr int kNobody = -1;

 private:
  static constexpr std::uint32_t kSides = 4, kLap = 2;
  static constexpr std::size_t kNear = 48;  // bytes that lie in the line itself
  struct alignas(kCacheLine) Line {
    Atomic<std::uint32_t> round{0};
    std::uint32_t kind = 0;
    std::uint32_t bytes = 0;
    alignas(16) std::array<std::byte, kNear> near;
  };
  static_assert(sizeof(Line) == kCacheLine);
  struct Head {
    alignas(kCacheLine) Atomic<std::uint32_t> waiting;  // members that wait for room
    std::array<Line, kSides> answers;
    std::array<std::array<std::byte, kAnswerMost>, kSides> long_answers;
  };
  static_assert(sizeof(Head) % kCacheLine == 0);

  /// Round a before round b; numbers may wrap.
  static bool is_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
  std::uint32_t side() const { return round_ % kSides; }
  Line& place(int member) const { return places_[static_cast<std::uint32_t>(member) * kSides + side()]; }
  std::byte* far(int member) const {
    return data_ + (static_cast<std::uint32_t>(member) * kSides + side()) * kPlaceMost;
  }
  bool has_come_to(int member, std::uint32_t round) const {
    const Line& line = places_[static_cast<std::uint32_t>(member) * kSides + round % kSides];
    // Acquire pairs with come(); a later round's is as good.
    return !is_before(line.round.load(std::memory_order_acquire), round);
  }
  bool have_all_come_to(std::uint32_t round) const {
    while (seen_ < members_ && (seen_ == me_ || has_come_to(seen_, round))) ++seen_;
    return seen_ == members_;
  }

  Head* head_;
  Line* places_;
  std::byte* data_;
  int members_, me_;
  std::uint32_t round_ = 0;
  std::array<int, kSides> read_by_;  // the speaker that may still read what this member has brought in that side
  mutable std::uint32_t known_ = 0;  // all have come to this round
  mutable int seen_ = 0;             // all before this one have come to the round that is looked for
};

}  // namespace rmq::mpi::coll
