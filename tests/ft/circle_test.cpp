// SPDX-License-Identifier: BSD-3-Clause
// Revocation and agreement over the real device, in an in-process world whose links are drawn from a seed, while ranks
// die at random.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/ft/faults.hpp"
#include "rma/fibers.hpp"

namespace rmq::testing {
namespace {

using mpi::ft::Agreement;
using mpi::ft::Circle;
using mpi::ft::Faults;

constexpr std::uint32_t kContext = 10;

/// All ranks, each with a circle of all of them.
class Ring {
 public:
  Ring(int size, std::uint64_t seed)
      : fibers_(size, methods::InprocRules::drawn(seed)), chance_(seed * 7 + 1), dead_(static_cast<std::size_t>(size)) {
    for (int r = 0; r < size; ++r) {
      faults_.push_back(std::make_unique<Faults>(fibers_.device(r)));
      circles_.emplace_back();
      make(r);
    }
  }
  /// A circle in the same context as ever.
  void make(int r) {
    auto& circle = circles_[static_cast<std::size_t>(r)];
    Faults& faults = *faults_[static_cast<std::size_t>(r)];
    circle = faults.make(kContext, {Ranks::rule(0, size()), {}});
    circle->end_messages = [this, r] {
      const std::uint32_t contexts[] = {kContext, kContext + 1};
      fibers_.device(r).revoke_contexts(contexts);
    };
    faults.begin(*circle);
  }
  Faults& faults(int r) { return *faults_[static_cast<std::size_t>(r)]; }
  ~Ring() {
    for (auto& f : faults_) f.reset();
  }

  int size() const { return fibers_.size(); }
  Circle& circle(int r) { return *circles_[static_cast<std::size_t>(r)]; }
  std::shared_ptr<Circle> shared_circle(int r) { return circles_[static_cast<std::size_t>(r)]; }
  adi::Device& device(int r) { return fibers_.device(r); }
  bool is_dead(int r) const { return dead_[static_cast<std::size_t>(r)]; }
  bool run(const std::function<void(int)>& program) { return fibers_.run(program); }
  std::uint64_t draw(std::uint64_t below) { return chance_.below(below); }

  [[noreturn]] void die(int r) {
    dead_[static_cast<std::size_t>(r)] = true;
    fibers_.die(r);
  }
  /// Dies, in so many of 1000 times, unless it is the one that must not.
  void risk(int r, int per_mille) {
    if (r != immortal && chance_.in(per_mille)) die(r);
  }
  void poll(int r, int times) {
    for (; times > 0; --times) device(r).MPID_Poll(false);
  }
  int immortal = -1;

 private:
  Fibers fibers_;
  methods::Chance chance_;
  std::vector<bool> dead_;
  std::vector<std::unique_ptr<Faults>> faults_;
  std::vector<std::shared_ptr<Circle>> circles_;
};

int size_for(std::uint64_t seed) {
  methods::Chance draw(seed);
  return seed % 97 == 0 ? 130 : 2 + static_cast<int>(draw.below(16));
}

TEST(Circles, AgreeWhoeverDies) {
  constexpr int kRounds = 4;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Ring ring(size_for(seed), seed);
    ring.immortal = static_cast<int>(seed) % ring.size();
    const int risk = static_cast<int>(seed % 5) * 20;
    std::vector<std::optional<Agreement::Value>> decided(kRounds);
    ASSERT_TRUE(ring.run([&](int me) {
      for (int round = 0; round < kRounds; ++round) {
        ring.poll(me, static_cast<int>(ring.draw(4)));
        ring.risk(me, risk);
        bool over = false;
        ring.circle(me).vote({ring.draw(8) | 8u}, [&](const Agreement::Value& v) {
          std::optional<Agreement::Value>& first = decided[static_cast<std::size_t>(round)];
          if (!first) first = v;
          EXPECT_EQ(*first, v) << "rank " << me << " round " << round << " seed " << seed;
          over = true;
        });
        while (!over) {
          ring.risk(me, risk / 10);
          ring.device(me).MPID_Poll(true);
        }
      }
    })) << "seed "
        << seed;
    for (const auto& d : decided) {
      ASSERT_TRUE(d);
      EXPECT_EQ(d->words[0] & 8u, 8u);
      for (int r = 0; r < ring.size(); ++r) EXPECT_TRUE(!d->failed.has(r) || ring.is_dead(r)) << "seed " << seed;
    }
    if (HasFailure()) return;
  }
}

// Questions of several agreements each, as many at a time as a rank likes: all votes of an agreement are on one.
TEST(Circles, SettleOneQuestionAfterTheOther) {
  constexpr int kQuestions = 6;
  const auto rounds_of = [](int question) { return 1 + question * 5 % 3; };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Ring ring(size_for(seed), seed);
    ring.immortal = static_cast<int>(seed) % ring.size();
    const int risk = static_cast<int>(seed % 4) * 10;
    ASSERT_TRUE(ring.run([&](int me) {
      int over = 0;
      std::vector<int> rounds(kQuestions);
      for (int question = 0; question < kQuestions; ++question) {
        ring.poll(me, static_cast<int>(ring.draw(12)));
        ring.risk(me, risk);
        int& round = rounds[static_cast<std::size_t>(question)];
        const auto bit = [&round, question] { return std::uint64_t{1} << (4 * question + round); };
        ring.circle(me).ask({[bit] { return std::vector{bit()}; },
                             [&, bit, question](const Agreement::Value& v) {
                               EXPECT_EQ(v.words, std::vector{bit()}) << "rank " << me << " seed " << seed;
                               if (++round < rounds_of(question)) return false;
                               EXPECT_EQ(over++, question) << "rank " << me << " seed " << seed;
                               return true;
                             }});
      }
      while (over < kQuestions) {
        ring.risk(me, risk / 10);
        ring.device(me).MPID_Poll(true);
      }
    })) << "seed "
        << seed;
    if (HasFailure()) return;
  }
}

// A communicator after the other in one context: what is left of one never comes to the next.
TEST(Circles, EndBeforeTheirContextIsUsedAnew) {
  constexpr int kRounds = 5;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Ring ring(size_for(seed), seed);
    ring.immortal = static_cast<int>(seed) % ring.size();
    const int risk = static_cast<int>(seed % 4) * 15;
    std::vector<std::optional<Agreement::Value>> decided(kRounds);
    int over = 0;
    std::vector<int> rounds(static_cast<std::size_t>(ring.size()));
    ASSERT_TRUE(ring.run([&](int me) {
      for (int round = 0; round < kRounds; ++round) {
        // It has to be free at all members of the next, who agree on that.
        const auto all_free = [&] {
          for (int r = 0; r < ring.size(); ++r)
            if (!ring.is_dead(r) && rounds[static_cast<std::size_t>(r)] < round) return false;
          return true;
        };
        while (!all_free()) ring.device(me).MPID_Poll(false);
        if (round > 0) ring.make(me);
        Circle& circle = ring.circle(me);
        ring.poll(me, static_cast<int>(ring.draw(4)));
        ring.risk(me, risk);
        bool agreed = false;
        circle.vote({ring.draw(8) | std::uint64_t{8} << round}, [&](const Agreement::Value& v) {
          std::optional<Agreement::Value>& first = decided[static_cast<std::size_t>(round)];
          if (!first) first = v;
          EXPECT_EQ(*first, v) << "rank " << me << " round " << round << " seed " << seed;
          agreed = true;
        });
        while (!agreed) {
          ring.risk(me, risk / 10);
          ring.device(me).MPID_Poll(true);
        }
        EXPECT_TRUE(round % 2 == 0 || !circle.is_revoked()) << "rank " << me << " round " << round << " seed " << seed;
        if (round % 2 == 0 && ring.draw(3) == 0) circle.revoke();
        ring.risk(me, risk);
        bool ended = false;
        circle.on_over = [&] {
          ended = true;
          const std::uint32_t contexts[] = {kContext, kContext + 1};
          EXPECT_TRUE(ring.device(me).forget_contexts(contexts));
        };
        ring.faults(me).end(ring.shared_circle(me));
        while (!ended) {
          ring.risk(me, risk / 10);
          ring.device(me).MPID_Poll(true);
        }
        EXPECT_TRUE(circle.has_left() && circle.is_over());
        rounds[static_cast<std::size_t>(me)] = round + 1;
      }
      ++over;
    })) << "seed "
        << seed;
    EXPECT_GE(over, 1);
    for (int round = 0; round < kRounds; ++round) {
      const auto& d = decided[static_cast<std::size_t>(round)];
      ASSERT_TRUE(d);
      EXPECT_EQ(d->words[0] >> 3, std::uint64_t{1} << round) << "seed " << seed;
    }
    if (HasFailure()) return;
  }
}

// Either all that live hear of it or none does, and whoever hears of it waits for nothing any more.
TEST(Circles, RevocationReachesAllOrNone) {
  int heard = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Ring ring(size_for(seed), seed);
    ring.immortal = static_cast<int>(seed) % ring.size();
    const int risk = static_cast<int>(seed % 4) * 30;
    const bool lucky = seed % 2 == 0;  // the one that must not die revokes
    const int revoker = lucky ? ring.immortal : static_cast<int>(ring.draw(static_cast<std::uint64_t>(ring.size())));
    std::vector<int> buffer(static_cast<std::size_t>(ring.size()));
    std::vector<Request*> posted(buffer.size());
    ASSERT_TRUE(ring.run([&](int me) {
      adi::Device& d = ring.device(me);
      const auto i = static_cast<std::size_t>(me);
      Request* const r = posted[i] = d.MPID_Request_create(RequestKind::recv);
      r->peer = (me + 1) % ring.size();
      if (r->peer == me) r->peer = kNoRank;
      r->match = {kContext, kAnySource, 5};
      r->view = DataView::contiguous(&buffer[i], sizeof(int));
      d.MPID_Irecv(r);
      ring.poll(me, static_cast<int>(ring.draw(6)));
      if (me == revoker) ring.circle(me).revoke();
      ring.risk(me, me == revoker && !lucky ? 900 : risk);
      for (int turns = 0; turns < 400 && (lucky ? !r->complete() : true); ++turns) {
        ring.risk(me, risk / 30);
        d.MPID_Poll(true);
      }
    })) << "seed "
        << seed;
    int yes = 0, no = 0;
    for (int r = 0; r < ring.size(); ++r) {
      if (ring.is_dead(r)) continue;
      ++(ring.circle(r).is_revoked() ? yes : no);
      const Request* const request = posted[static_cast<std::size_t>(r)];
      if (ring.circle(r).is_revoked()) {
        EXPECT_TRUE(request->complete() && request->status.error != Errc::ok) << "rank " << r << " seed " << seed;
      }
    }
    EXPECT_TRUE(yes == 0 || no == 0) << yes << " have heard, " << no << " have not, seed " << seed;
    EXPECT_TRUE(!lucky || no == 0) << "seed " << seed;
    heard += yes > 0 && !lucky;
    if (HasFailure()) return;
  }
  EXPECT_GT(heard, 30);  // of those whose revoker mostly dies at once
}

// Messages of all sorts under way: what is revoked ends, what is not goes on, and no memory is touched after its
// request.
TEST(Circles, RevocationEndsMessagesInAnyStep) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Ring ring(3, seed);
    std::vector<std::vector<std::byte>> data(3, std::vector<std::byte>(100'000));
    int revoked = 0;
    ASSERT_TRUE(ring.run([&](int me) {
      adi::Device& d = ring.device(me);
      std::vector<Request*> mine;
      const auto start = [&](RequestKind kind, int peer, std::uint32_t context, int tag, std::size_t bytes,
                             SendMode mode) {
        Request* const r = d.MPID_Request_create(kind);
        r->peer = peer;
        r->match = {context, kind == RequestKind::send ? me : peer, tag};
        r->mode = mode;
        r->view = DataView::contiguous(data[static_cast<std::size_t>(me)].data(), bytes);
        mine.push_back(r);
        kind == RequestKind::send ? d.MPID_Isend(r) : d.MPID_Irecv(r);
      };
      const int next = (me + 1) % 3, before = (me + 2) % 3;
      for (int i = 0; i < 8; ++i) {
        const std::size_t bytes = i % 3 == 0 ? 90'000 : 40;
        const SendMode mode = i % 2 == 0 ? SendMode::standard : SendMode::synchronous;
        start(RequestKind::send, next, kContext, i, bytes, mode);
        if (i % 2 == 0 || me != 1) start(RequestKind::recv, before, kContext, i, bytes, mode);
        start(RequestKind::send, next, 40, i, bytes, mode);
        start(RequestKind::recv, before, 40, i, bytes, mode);
        ring.poll(me, static_cast<int>(ring.draw(3)));
        if (me == 0 && i == static_cast<int>(seed % 8)) ring.circle(me).revoke();
      }
      for (Request* r : mine) {
        d.MPID_Wait(r);
        if (r->match.context == 40) {
          EXPECT_EQ(r->status.error, Errc::ok) << "seed " << seed;
        }
        revoked += r->status.error == Errc::revoked;
        d.MPID_Request_free(r);
      }
    })) << "seed "
        << seed;
    EXPECT_GT(revoked, 0) << "seed " << seed;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace rmq::testing
