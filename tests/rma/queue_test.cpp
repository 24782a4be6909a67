// SPDX-License-Identifier: BSD-3-Clause
// The remote queue buffer on in-process devices: random programs of puts, gets and locks against a model. Where ranks
// share memory every call takes effect at once, so the model must agree with each answer. By packets a message takes
// effect later; then nothing may be lost, doubled, torn or out of its sender's order, and a refusal needs a reason.
#include "rma/queue/queue.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

#include "methods/chance.hpp"
#include "rma/fibers.hpp"
#include "tests/sanitized.hpp"

namespace {

using namespace rmq;
using rma::Queue;
using rmq::testing::Fibers;

constexpr int kRanks = 4;

struct Message {
  std::int32_t from, number;
  std::uint64_t check;
  static Message make(int from, int number) {
    const std::uint64_t word = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(number);
    return {from, number, word * 0x9e3779b97f4a7c15u};
  }
};

/// What one owner's buffer must be like.
struct Model {
  std::deque<std::pair<int, int>> messages;  // sender, number; shared memory
  std::map<int, std::deque<int>> by_sender;  // packets: put and not yet got
  bool locked = false, was_locked = false;
};

class Program {
 public:
  Program(std::uint64_t seed, bool shared) : shared_(shared), chance_(seed), fibers_(kRanks, rules(seed, shared)) {
    capacity_ = 1 + static_cast<std::uint32_t>(chance_.below(12));
    steps_ = 20 + static_cast<int>(chance_.below(60));
  }

  std::vector<std::string> run() {
    if (!fibers_.run([this](int rank) { act(rank); })) faults_.emplace_back("stuck");
    return faults_;
  }

 private:
  static methods::InprocRules rules(std::uint64_t seed, bool shared) {
    methods::InprocRules r;
    r.seed = seed;
    r.shared_memory = shared;
    return r;
  }
  void expect(bool good, const std::string& what) {
    if (!good) faults_.push_back(what);
  }

  void act(int rank) {
    rma::Hub hub(fibers_.device(rank));
    rma::QueueOptions o;
    o.id = 5;
    o.ranks = Ranks::rule(0, kRanks);
    o.me = rank;
    o.message = sizeof(Message);
    o.capacity = capacity_;
    auto made = Queue::prepare(hub, o);
    if (!made) return expect(false, made.error().what);
    std::unique_ptr<Queue> q = std::move(*made);
    const auto mine = q->contribution();
    q->open(fibers_.gather(rank, mine));
    fibers_.barrier(rank);
    for (int step = 0; step < steps_; ++step) one(rank, *q);
    fibers_.barrier(rank);
    if (q->locked()) unlock(rank, *q);
    // What is still on its way comes in.
    for (int i = 0; i < 200; ++i) {
      get(rank, *q);
      fibers_.device(rank).MPID_Poll(false);
    }
    fibers_.barrier(rank);
    expect(model_[rank].messages.empty(), fmt::format("rank {}: messages are missing", rank));
    for (const auto& [from, numbers] : model_[rank].by_sender) {
      expect(numbers.empty(), fmt::format("rank {}: {} messages from rank {} are missing", rank, numbers.size(), from));
    }
    fibers_.barrier(rank);
    q.reset();
    fibers_.barrier(rank);
  }

  void one(int rank, Queue& q) {
    switch (chance_.below(10)) {
      case 0:
        return q.locked() ? unlock(rank, q) : lock(rank, q);
      case 1:
      case 2:
        return get(rank, q);
      case 3:
        fibers_.device(rank).MPID_Poll(false);
        return;
      default:
        return put(rank, static_cast<int>(chance_.below(kRanks)), q);
    }
  }

  void put(int rank, int to, Queue& q) {
    Model& model = model_[to];
    const int number = next_[{rank, to}];
    const Message m = Message::make(rank, number);
    const bool done = q.try_put(to, &m) == Queue::Put::done;
    const bool direct = shared_ || to == rank;
    if (done) ++next_[{rank, to}];
    if (direct) {
      const bool room = !model.locked && model.messages.size() < capacity_;
      expect(done == room,
             fmt::format("rank {} to {}: {} though {} of {} places are taken{}", rank, to, done ? "put" : "refused",
                         model.messages.size(), capacity_, model.locked ? " and it is locked" : ""));
      if (done) model.messages.emplace_back(rank, number);
    } else {
      auto& waiting = model.by_sender[rank];
      // At least what has not been got is without credit; a little more may be, whose credit is on its way.
      expect(done || model.was_locked || got_since_[{rank, to}] > 0 ||
                 waiting.size() >= std::min<std::size_t>(capacity_ / kRanks, 4),
             fmt::format("rank {} to {}: refused with {} messages waiting", rank, to, waiting.size()));
      if (done) waiting.push_back(number);
    }
  }

  void get(int rank, Queue& q) {
    Model& model = model_[rank];
    std::vector<Message> got(q.most());
    const std::uint32_t n = q.get(reinterpret_cast<std::byte*>(got.data()));
    expect(n <= q.most(), "more messages than fit");
    std::size_t direct = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const Message right = Message::make(got[i].from, got[i].number);
      expect(std::memcmp(&right, &got[i], sizeof right) == 0, "a torn message");
      if (shared_ || got[i].from == rank) {
        expect(!model.messages.empty() && model.messages.front() == std::pair{got[i].from, got[i].number},
               fmt::format("rank {}: message {} of rank {} out of turn", rank, got[i].number, got[i].from));
        if (!model.messages.empty()) model.messages.pop_front();
        ++direct;
      } else {
        auto& waiting = model.by_sender[got[i].from];
        expect(!waiting.empty() && waiting.front() == got[i].number,
               fmt::format("rank {}: message {} of rank {} out of turn", rank, got[i].number, got[i].from));
        if (!waiting.empty()) waiting.pop_front();
        ++got_since_[{got[i].from, rank}];
      }
    }
    // All that was there has come.
    expect(model.messages.empty(), fmt::format("rank {}: a get left {} messages", rank, model.messages.size()));
    static_cast<void>(direct);
  }

  void lock(int rank, Queue& q) {
    q.lock();
    model_[rank].locked = model_[rank].was_locked = true;
  }
  void unlock(int rank, Queue& q) {
    q.unlock();
    model_[rank].locked = false;
  }

  bool shared_;
  methods::Chance chance_;
  std::uint32_t capacity_;
  int steps_;
  Fibers fibers_;
  std::map<int, Model> model_;
  std::map<std::pair<int, int>, int> next_, got_since_;
  std::vector<std::string> faults_;
};

void try_seeds(bool shared) {
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= repeated(1000u) && failed < 3; ++seed) {
    const auto faults = Program(seed, shared).run();
    if (faults.empty()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << seed << ": " << faults.front();
  }
}

TEST(QueueBuffer, AgreesWithItsModelWhereRanksShareMemory) {
  try_seeds(true);
}
TEST(QueueBuffer, LosesDoublesAndReordersNothingByPackets) {
  try_seeds(false);
}

// A rank whose lock others wait for by packets looks at it in each turn of its dispatch loop; so it must go on when the
// last queue buffer, which wanted turns as well, has gone.
TEST(QueueBuffer, TakesNoTurnsAwayFromWindowsWhenItGoes) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::int64_t word = 0;
    rma::WindowOptions o;
    o.id = 3;
    o.base = &word;
    o.size = sizeof word;
    auto w = f.window(me, o);
    if (me == 0) {
      EXPECT_EQ(w->lock(rma::LockType::exclusive, 0, 0), rma::Fault::none);
      f.barrier(me);
      for (int i = 0; i < 1000; ++i) f.device(0).MPID_Poll(false);  // the other's request is here, and waits
      { rma::Hub hub(f.device(0)); }
      EXPECT_EQ(w->unlock(0), rma::Fault::none);
    } else {
      f.barrier(me);
      const std::int64_t seven = 7;
      const LayoutRef one = Layout::basic(Basic::i64, 8);
      EXPECT_EQ(w->lock(rma::LockType::exclusive, 0, 0), rma::Fault::none);
      EXPECT_EQ(w->put(DataView::contiguous(&seven, 8), {0, 0, one.get(), 1}), rma::Fault::none);
      EXPECT_EQ(w->unlock(0), rma::Fault::none);
    }
    f.barrier(me);
    EXPECT_EQ(word, me == 0 ? 7 : 0);
    f.close(me, std::move(w));
  }));
}

TEST(RmaQueue, WhatOneGetMayBringFitsAnInt) {
  for (const std::uint32_t members : {1u, 2u, 3u, 1000u}) {
    for (const std::uint32_t capacity : {1u, 7u, 1u << 20, 1u << 30}) {
      const std::uint64_t share = rmq::rma::Queue::share_of(capacity, members);
      EXPECT_GE(share, 4u);
      EXPECT_LE(capacity + share * members, static_cast<std::uint64_t>(INT32_MAX)) << capacity << " " << members;
    }
  }
}

}  // namespace
