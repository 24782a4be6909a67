// SPDX-License-Identifier: BSD-3-Clause
// The agreement protocol among members that die, without packets: at every point at which one can die (behind each of
// its messages, also in the middle of telling all), under deliveries drawn from a seed.
#include "engine/ft/agreement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "methods/chance.hpp"
#include "tests/sanitized.hpp"

namespace rmq::testing {
namespace {

using mpi::ft::Agreement;
using mpi::ft::Places;

constexpr int kNever = 1 << 30;

/// Members and the channels between them. A channel keeps order; of a member that dies it brings some of what is under
/// way, and then the news of the death, to each member at a time of its own.
class Crowd {
 public:
  Crowd(int size, int agreements, std::uint64_t seed)
      : size_(size), agreements_(agreements), chance_(seed), links_(at(size * size)) {
    for (int i = 0; i < size; ++i) members_.push_back(std::make_unique<Member>(*this, i));
  }

  /// Dies with its so many-th message not sent.
  void die_at(int member, int message) { members_[at(member)]->dies_at = message; }
  /// One of its own accord, now and then.
  void die_at_random(int per_mille) { random_deaths_ = per_mille; }

  /// What is wrong; empty: nothing.
  std::string run() {
    while (step())
      if (++steps_ > 200'000) return "it does not end";
    return judge();
  }
  int messages(int member) const { return members_[static_cast<std::size_t>(member)]->sent; }

 private:
  struct Died {};
  struct Member : Agreement::Wire {
    Member(Crowd& c, int i) : crowd(c), me(i), agreement(c.size_, i, *this), told(c.size_) {}
    void send(int place, const Agreement::Message& m) override {
      if (sent == dies_at) throw Died{};
      ++sent;
      crowd.link(me, place).push_back(m);
    }
    Crowd& crowd;
    int me;
    Agreement agreement;
    int sent = 0, dies_at = kNever;
    bool dead = false;
    Places told;  // of the deaths of these
    std::vector<std::uint64_t> votes;
    std::vector<Agreement::Value> decided;
    std::vector<int> dead_when_decided;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::deque<Agreement::Message>& link(int from, int to) { return links_[at(from * size_ + to)]; }

  void kill(Member& m) {
    m.dead = true;
    ++dead_;
    for (int to = 0; to < size_; ++to) {
      auto& l = link(m.me, to);
      l.resize(chance_.below(l.size() + 1));
      link(to, m.me).clear();
    }
  }
  /// Lets the member do something, at which it may die.
  template <class F>
  void act(Member& m, F&& f) {
    try {
      f();
    } catch (const Died&) {
      return kill(m);
    }
    if (!m.agreement.running() && m.decided.size() < m.agreement.number()) {
      m.decided.push_back(m.agreement.decided());
      m.dead_when_decided.push_back(dead_);
    }
  }

  // One thing that can happen, drawn from all; false: nothing can.
  bool step() {
    struct Event {
      int from, to;  // from < 0: `to` begins
    };
    std::vector<Event> possible;
    for (int to = 0; to < size_; ++to) {
      const Member& m = *members_[at(to)];
      if (m.dead) continue;
      if (!m.agreement.running() && m.agreement.number() < static_cast<std::uint32_t>(agreements_))
        possible.push_back({-1, to});
      for (int from = 0; from < size_; ++from)
        if (!link(from, to).empty() || (members_[at(from)]->dead && !m.told.has(from))) possible.push_back({from, to});
    }
    if (possible.empty()) return false;
    const Event e = possible[chance_.below(possible.size())];
    Member& m = *members_[at(e.to)];
    if (random_deaths_ > 0 && dead_ + 1 < size_ && chance_.below(1000) < static_cast<std::uint64_t>(random_deaths_)) {
      kill(m);
      return true;
    }
    act(m, [&] {
      if (e.from < 0) {
        m.votes.push_back(chance_.below(16));
        m.agreement.begin({{m.votes.back()}, m.told});
      } else if (auto& l = link(e.from, e.to); !l.empty()) {
        const Agreement::Message message = l.front();
        l.pop_front();
        m.agreement.on_message(e.from, message);
      } else {
        m.told.add(e.from);
        m.agreement.on_deaths({&e.from, 1});
      }
    });
    return true;
  }

  std::string judge() const {
    for (int n = 0; n < agreements_; ++n) {
      const Agreement::Value* first = nullptr;
      std::uint64_t of_all = ~std::uint64_t{0}, of_living = ~std::uint64_t{0};
      for (const auto& m : members_) {
        if (m->votes.size() > at(n)) of_all &= m->votes[at(n)];
        if (!m->dead) of_living &= m->votes[at(n)];
        if (m->decided.size() <= at(n)) {
          if (!m->dead) return fmt::format("member {} has not decided agreement {}", m->me, n + 1);
          continue;
        }
        const Agreement::Value& mine = m->decided[at(n)];
        if (first && !(mine == *first)) return fmt::format("member {} has decided otherwise in {}", m->me, n + 1);
        first = &mine;
        if (mine.failed.count() > m->dead_when_decided[at(n)]) return "one that lives counts as failed";
      }
      if (!first) continue;
      const std::uint64_t result = first->words[0];
      if ((result & ~of_living) != 0) return "the vote of one that lives does not count";
      if ((of_all & ~result) != 0) return "more is decided than anybody has voted";
      for (const auto& m : members_) {
        if (first->failed.has(m->me) && !m->dead) return "one that lives counts as failed";
        if (m->votes.size() <= at(n) && !first->failed.has(m->me))
          return "one that has not voted does not count as failed";
      }
    }
    return {};
  }

  const int size_, agreements_;
  methods::Chance chance_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::deque<Agreement::Message>> links_;
  int dead_ = 0, random_deaths_ = 0, steps_ = 0;
};

TEST(Agreement, WithoutDeathsAllDecideTheSame) {
  for (const int size : {1, 2, 3, 4, 7, 17, 130})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(Crowd(size, 3, seed).run(), "") << size << " " << seed;
}

TEST(Agreement, CostsFourMessagesAMember) {
  for (const int size : {2, 5, 17}) {
    Crowd crowd(size, 1, 1);
    ASSERT_EQ(crowd.run(), "");
    int sum = 0;
    for (int i = 0; i < size; ++i) sum += crowd.messages(i);
    EXPECT_EQ(sum, 4 * (size - 1));
  }
}

// Each member's death behind each of its messages, and that of each pair.
TEST(Agreement, EndsWhoeverDiesWhen) {
  const int seeds = kSanitized ? 3 : 25;
  for (const int size : {2, 3, 4}) {
    const int most = 3 * 2 * size;  // messages of one member in two agreements
    for (int a = 0; a < size; ++a) {
      for (int b = a; b < size; ++b) {
        for (int at_a = 0; at_a <= most; ++at_a) {
          for (int at_b = 0; at_b <= (a == b ? 0 : most); ++at_b) {
            for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(seeds); ++seed) {
              Crowd crowd(size, 2, seed);
              crowd.die_at(a, at_a);
              if (a != b) crowd.die_at(b, at_b);
              ASSERT_EQ(crowd.run(), "") << fmt::format("of {}: {} at {}, {} at {}, seed {}", size, a, at_a, b, at_b,
                                                        seed);
            }
          }
        }
      }
    }
  }
}

TEST(Agreement, EndsWhenAnyNumberDiesAtAnyTime) {
  const std::uint64_t seeds = kSanitized ? 300 : 4000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    methods::Chance draw(seed);
    Crowd crowd(2 + static_cast<int>(draw.below(16)), 3, seed);
    crowd.die_at_random(static_cast<int>(draw.below(60)));
    ASSERT_EQ(crowd.run(), "") << "seed " << seed;
  }
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Crowd crowd(130, 2, seed);
    crowd.die_at_random(30);
    ASSERT_EQ(crowd.run(), "") << "130 members, seed " << seed;
  }
}

}  // namespace
}  // namespace rmq::testing
