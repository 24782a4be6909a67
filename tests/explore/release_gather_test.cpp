// SPDX-License-Identifier: BSD-3-Clause
// What ranks of one host say to each other in shared memory: engine/coll/release_gather.hpp.
#include "engine/coll/release_gather.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "tests/explore/check.hpp"

namespace rmq::mpi::coll {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

/// A round of the program that all members run.
struct Round {
  bool release;
  int speaker;
};

struct Gatherers {
  explicit Gatherers(int size) : members(size), memory(ReleaseGather::bytes(size) + kCacheLine) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    shared = reinterpret_cast<void*>((at + kCacheLine - 1) / kCacheLine * kCacheLine);
    ReleaseGather::make(shared, members);
    bells = std::vector<explore::Bell>(static_cast<std::size_t>(members));
    own = std::vector<int>(static_cast<std::size_t>(members));
  }
  const int members;
  std::vector<std::byte> memory;
  void* shared;
  std::vector<explore::Bell> bells;
  std::vector<int> own;  // of each member, outside of the shared memory

  // As shared.cpp does: who wakes whom, and what is waited for.
  void wake(int who) { bells[static_cast<std::size_t>(who)].ring(); }
  void wake_others(int me) {
    for (int m = 0; m < members; ++m)
      if (m != me) wake(m);
  }
  template <class Open>
  void wait(int me, bool sleep, const Open& open) {
    while (!open()) sleep ? bells[static_cast<std::size_t>(me)].wait() : explore::pause();
  }
  static std::uint32_t read(const ReleaseGather::Said& said, const void* line) {
    explore::plain_read(line, "what is said");
    expect(said.bytes == sizeof(std::uint32_t), "all of it is there");
    std::uint32_t value;
    std::memcpy(&value, said.data, sizeof value);
    return value;
  }
  // The line begins before the data that lies in it.
  static const void* line_of(const ReleaseGather::Said& said) { return said.data - 16; }

  void take_part(ReleaseGather& r, int me, const Round& round, bool sleep) {
    r.begin();
    const std::uint32_t number = 100 * r.round();
    const bool speaks = me == round.speaker;
    if (!r.has_room(round.release && speaks)) {
      r.wait_for_room();
      wait(me, sleep, [&] { return r.has_room(round.release && speaks); });
      r.end_wait_for_room();
    }
    if (!round.release && !speaks) {
      const std::uint32_t value = number + static_cast<std::uint32_t>(me);
      std::memcpy(r.place_for(sizeof value), &value, sizeof value);
    }
    const bool wanted = r.come(1, sizeof(std::uint32_t), round.release ? ReleaseGather::kNobody : round.speaker);
    if (!round.release && !speaks) wake(round.speaker);
    if (wanted) wake_others(me);
    if (round.release && speaks) {
      std::memcpy(r.answer_for(sizeof number), &number, sizeof number);
      r.answer(1, sizeof number);
      wake_others(me);
    } else if (round.release) {
      wait(me, sleep, [&] { return r.is_answered(); });
      r.heard(round.speaker);
      expect(read(r.answered(), line_of(r.answered())) == number, "it is this round's answer");
    } else if (speaks) {
      wait(me, sleep, [&] { return r.have_all_come(); });
      for (int m = 0; m < members; ++m)
        if (m != me)
          expect(read(r.brought(m), line_of(r.brought(m))) == number + static_cast<std::uint32_t>(m),
                 "each has brought what belongs to this round");
    }
  }
};

// Meetings of all with all, each a gather and a release. As the collectives of OpenSHMEM do that go from memory to
// memory: what a member has written before the first is the others' to read until the second.
Program meetings(int members, int number) {
  auto host = std::make_shared<Gatherers>(members);
  Program p;
  for (int me = 0; me < members; ++me) {
    p.threads.emplace_back([=] {
      ReleaseGather r(host->shared, members, me);
      for (int i = 0; i < number; ++i) {
        if (i % 2 == 0) explore::plain_write(&host->own[static_cast<std::size_t>(me)], "memory of its own");
        host->take_part(r, me, {false, 0}, false);
        host->take_part(r, me, {true, 0}, false);
        if (i % 2 != 0) continue;
        for (const int& one : host->own) explore::plain_read(&one, "memory of its own");
      }
    });
  }
  return p;
}

Program program(int members, std::vector<Round> rounds, bool sleep) {
  auto host = std::make_shared<Gatherers>(members);
  auto all = std::make_shared<std::vector<Round>>(std::move(rounds));
  Program p;
  for (int me = 0; me < members; ++me) {
    p.threads.emplace_back([=] {
      ReleaseGather r(host->shared, members, me);
      for (const Round& round : *all) host->take_part(r, me, round, sleep);
    });
  }
  return p;
}

// Each side is written twice and more, by members that are ahead.
std::vector<Round> releases() {
  return std::vector<Round>(7, {true, 0});
}
std::vector<Round> gathers() {
  return std::vector<Round>(7, {false, 0});
}
std::vector<Round> mixed() {
  return {{true, 0}, {false, 1}, {true, 1}, {false, 0}, {true, 1}, {false, 1}, {true, 0}, {false, 0}};
}

constexpr Bounds kGatherBounds{.preemptions = 2, .stale = 2, .random = 3000};
constexpr Bounds kMany{.preemptions = 2, .stale = 1, .random = 3000};  // of rounds in which members go on alone
constexpr Bounds kThreeGather{.preemptions = 1, .stale = 1, .random = 3000};

TEST(ReleaseGather, EachHearsAndReadsWhatBelongsToTheRound) {
  for (const auto& rounds : {releases(), gathers(), mixed()}) {
    explore::holds([&] { return program(2, rounds, false); }, kMany);
    explore::holds([&] { return program(3, rounds, false); }, {.preemptions = 1, .stale = 0, .random = 3000});
  }
  explore::holds([] { return meetings(2, 4); }, kMany);
  explore::holds([] { return meetings(3, 3); }, {.preemptions = 0, .stale = 0, .random = 20000});
}

TEST(ReleaseGather, WhoeverSleepsIsWoken) {
  for (const auto& rounds : {releases(), gathers(), mixed()}) {
    explore::holds([&] { return program(2, rounds, true); }, kGatherBounds);
    explore::holds([&] { return program(3, rounds, true); }, kThreeGather);
  }
}

TEST(ReleaseGather, NeedsItsOrders) {
  const Mutant in_releases[] = {
      {"release_gather.hpp", "line.round.store(round_", Change::relaxed},
      {"release_gather.hpp", "return head_->answers[side()].round.load(", Change::relaxed},
      {"release_gather.hpp", "mine.round.store(round_", Change::relaxed},
  };
  explore::kills([] { return program(2, releases(), false); }, kGatherBounds, in_releases);
  const Mutant in_gathers[] = {
      {"release_gather.hpp", "mine.round.store(round_", Change::relaxed},
      {"release_gather.hpp", "return !is_before(line.round.load(", Change::relaxed},
  };
  explore::kills([] { return program(2, gathers(), false); }, kGatherBounds, in_gathers);
  const Mutant sleeping[] = {
      {"release_gather.hpp", "os::thread_fence(std::memory_order_seq_cst);  // wait_for_room()", Change::skipped},
      {"release_gather.hpp", "os::thread_fence(std::memory_order_seq_cst);  // come()", Change::skipped},
      {"release_gather.hpp", "head_->waiting.fetch_add(1", Change::skipped},
  };
  explore::kills([] { return program(2, releases(), true); }, kGatherBounds, sleeping);
}

}  // namespace
}  // namespace rmq::mpi::coll
