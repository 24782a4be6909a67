// SPDX-License-Identifier: BSD-3-Clause
// The board that collectives of one host meet at: engine/coll/board.hpp.
#include "engine/coll/board.hpp"

#include <memory>
#include <vector>

#include "engine/coll/guests.hpp"
#include "tests/explore/check.hpp"

namespace rmq::mpi::coll {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

struct Host {
  Host(int size, bool last_answers) : one_answers(last_answers), members(size) {
    memory.resize(Board::bytes(members) + kCacheLine);
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    board = reinterpret_cast<void*>((at + kCacheLine - 1) / kCacheLine * kCacheLine);
    Board::make(board, members);
    bells = std::vector<explore::Bell>(static_cast<std::size_t>(members));
    own = std::vector<int>(static_cast<std::size_t>(members));
  }
  std::vector<std::byte> memory;
  void* board;
  Guests guests;
  std::vector<explore::Bell> bells;
  std::vector<int> own;  // of each member, outside of the board
  const bool one_answers;
  const int members;

  // As meeting.cpp does; a sleeper is rung by all who open the round to it.
  void wake_others(int me) {
    for (int m = 0; m < members; ++m)
      if (m != me) bells[static_cast<std::size_t>(m)].ring();
  }
  void meet(Board& b, int me, bool sleep) {
    const std::uint32_t mine = 100 * b.round() + static_cast<std::uint32_t>(me);
    const auto sum_of_all = [&] {
      std::uint32_t sum = 0;
      for (int m = 0; m < members; ++m) {
        explore::plain_read(&b.brought(m), "what is brought");
        std::uint32_t value;
        std::memcpy(&value, b.brought(m).data.data(), sizeof value);
        sum += value;
      }
      return sum;
    };
    const auto right =
        static_cast<std::uint32_t>(members) * 100 * b.round() + static_cast<std::uint32_t>(members * (members - 1) / 2);
    if (b.come(7, &mine, sizeof mine)) {
      Brought result{};
      const std::uint32_t sum = sum_of_all();
      std::memcpy(result.data.data(), &sum, sizeof sum);
      b.answer(result);
      wake_others(me);
    } else if (!one_answers) {
      wake_others(me);
    }
    while (!b.is_open()) sleep ? bells[static_cast<std::size_t>(me)].wait() : explore::pause();
    std::uint32_t got;
    if (one_answers) {
      explore::plain_read(&b.answered(), "the answer");
      std::memcpy(&got, b.answered().data.data(), sizeof got);
    } else {
      got = sum_of_all();
    }
    expect(got == right, "each has what all have brought to this round");
    expect(sum_of_all() == right, "and may read it himself");
  }
  // As the collectives of OpenSHMEM do that go from memory to memory: what a member has written before it meets the
  // others is theirs to read until they meet again.
  void meet_around_memory(Board& b, int me, bool sleep) {
    const bool again = b.round() % 2 != 0;
    if (!again) explore::plain_write(&own[static_cast<std::size_t>(me)], "memory of its own");
    meet(b, me, sleep);
    if (again) return;
    for (const int& one : own) explore::plain_read(&one, "memory of its own");
  }
};

Program meeting(int members, bool one_answers, int rounds, bool sleep) {
  auto host = std::make_shared<Host>(members, one_answers);
  Program p;
  for (int me = 0; me < members; ++me) {
    p.threads.emplace_back([=] {
      Board b(host->board, members, me, one_answers);
      for (int i = 0; i < rounds; ++i) host->meet_around_memory(b, me, sleep);
      host->guests.leave();
      if (me == 0 && host->guests.have_left(members))
        explore::plain_write(&b.answered(), "the memory, for something else");
    });
  }
  return p;
}

constexpr Bounds kBounds{.preemptions = 2, .stale = 2, .random = 3000};
constexpr Bounds kThree{.preemptions = 1, .stale = 1, .random = 3000};

TEST(Board, AllReadWhatAllHaveBrought) {
  explore::holds([] { return meeting(2, false, 3, false); }, kBounds);
  explore::holds([] { return meeting(3, false, 2, false); }, kThree);
}

TEST(Board, TheLastAnswersForAll) {
  explore::holds([] { return meeting(2, true, 3, false); }, kBounds);
  explore::holds([] { return meeting(3, true, 2, false); }, kThree);
}

TEST(Board, WhoeverSleepsIsWoken) {
  explore::holds([] { return meeting(2, false, 2, true); }, kBounds);
  explore::holds([] { return meeting(2, true, 2, true); }, kBounds);
}

TEST(Board, NeedsItsOrders) {
  const Mutant all_read[] = {
      {"board.hpp", "mine.round.store(round_", Change::relaxed},
      {"board.hpp", "return place(member).round.load(", Change::relaxed},
  };
  explore::kills([] { return meeting(2, false, 3, false); }, kBounds, all_read);
  const Mutant one_answers[] = {
      {"board.hpp", "shared_->come.fetch_add(1", Change::relaxed},
      {"board.hpp", "shared_->come.fetch_add(1", Change::torn},
      {"board.hpp", "shared_->answer.round.store(round_", Change::relaxed},
      {"board.hpp", "return shared_->answer.round.load(", Change::relaxed},
      {"guests.hpp", "left.fetch_add(1", Change::relaxed},
      {"guests.hpp", "return left.load(", Change::relaxed},
  };
  explore::kills([] { return meeting(2, true, 3, false); }, kBounds, one_answers);
}

}  // namespace
}  // namespace rmq::mpi::coll
