// SPDX-License-Identifier: BSD-3-Clause
// The in-process method on its own, with a sink that only takes notes: the promises of methods/method.hpp.
#include "methods/inproc.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "base/packet/request_pool.hpp"

namespace rmq::methods {
namespace {

// N bare endpoints whose upcalls are written down.
class Endpoints {
 public:
  struct Side {
    Endpoints* world = nullptr;
    Rank rank = kNoRank;
    Sink sink;
    Config config;
    Trace trace;
    std::unique_ptr<Doorbell> bell;
    std::unique_ptr<Method> method;
    std::map<Rank, std::vector<std::vector<std::byte>>> received;  // by sender, in order
    std::deque<std::vector<std::byte>> landing;                    // memory of arrivals under way
    std::map<Request*, Errc> sent, moved;
    std::map<Request*, std::uint64_t> moved_bytes;
    std::vector<Rank> lost;
    int torn = 0;  // landings that ended in an error
  };

  Endpoints(int n, const InprocRules& rules) : world_(n, rules), bootstraps_(local_bootstraps(n)) {
    for (int i = 0; i < n; ++i) {
      sides_.push_back(std::make_unique<Side>());
      Side& s = *sides_.back();
      s.world = this;
      s.rank = i;
      s.sink.device = &s;
      s.sink.on_packet.fill(on_packet);
      s.sink.on_arriving = on_arriving;
      s.sink.on_landed = on_landed;
      s.sink.on_sent = [](void* d, Request* r, Errc e) { side(d).sent[r] = e; };
      s.sink.on_moved = [](void* d, Request* r, std::uint64_t n_bytes, Errc e) {
        side(d).moved[r] = e;
        side(d).moved_bytes[r] = n_bytes;
      };
      s.sink.on_peer_lost = [](void* d, Rank r, const Error& e) {
        EXPECT_NE(e.what.find("rank " + std::to_string(r)), std::string::npos) << e.what;
        side(d).lost.push_back(r);
      };
      s.bell = *Doorbell::open(bootstraps_[static_cast<std::size_t>(i)]->job().job, i);
      s.method = world_.open({s.config, *bootstraps_[static_cast<std::size_t>(i)], s.sink, s.trace, *s.bell});
    }
  }

  Side& operator[](int rank) { return *sides_[static_cast<std::size_t>(rank)]; }
  InprocWorld& world() { return world_; }
  RequestPool& pool() { return pool_; }

  int poll_all() {
    int happened = 0;
    for (auto& s : sides_) happened += s->method->poll();
    return happened;
  }
  void settle() {
    for (int turns = 0; world_.under_way() > 0; ++turns) {
      ASSERT_LT(turns, 1000000) << "the world does not come to rest";
      poll_all();
    }
  }
  // Sends until it is taken.
  Outcome send(Rank from, Rank to, const Payload& payload, Request* owner) {
    Packet p(Kind::SHORT);
    p.length = static_cast<std::uint32_t>(payload.bytes);
    for (;;) {
      const Outcome o = (*this)[from].method->send(to, p, payload, owner);
      if (o != Outcome::retry) return o;
      poll_all();
    }
  }

 private:
  static Side& side(void* device) { return *static_cast<Side*>(device); }
  static void on_packet(void* d, Rank from, const Packet& p, const std::byte* payload) {
    side(d).received[from].emplace_back(payload, payload + p.length);
  }
  static Landing on_arriving(void* d, Rank, const Packet& p) {
    auto& memory = side(d).landing.emplace_back(p.length + 2);
    return {DataView::contiguous(memory.data(), memory.size()), 1, p.length, nullptr};
  }
  static void on_landed(void* d, Rank from, const Packet& p, const Landing& l, Errc error) {
    side(d).torn += error != Errc::ok;
    if (error != Errc::ok) return;
    EXPECT_EQ(l.bytes, p.length);
    side(d).received[from].emplace_back(l.into.base + 1, l.into.base + 1 + l.bytes);
  }

  InprocWorld world_;
  RequestPool pool_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::vector<std::unique_ptr<Side>> sides_;
};

std::vector<std::byte> pattern(std::size_t bytes, int salt) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(salt));
  return data;
}

Payload whole(const std::vector<std::byte>& data) {
  return {DataView::contiguous(data.data(), data.size()), 0, data.size()};
}

// Messages of mixed sizes between all pairs; returns the digest of the run.
std::uint64_t traffic(std::uint64_t seed) {
  const InprocRules rules = InprocRules::drawn(seed);
  Endpoints e(4, rules);
  const std::size_t limit = std::max(rules.eager_max, rules.fragment_max);
  std::deque<std::vector<std::byte>> memory;
  std::map<std::pair<Rank, Rank>, std::vector<const std::vector<std::byte>*>> expected;
  std::map<Rank, std::vector<Request*>> queued;
  Chance chance(seed + 1);
  for (int i = 0; i < 200; ++i) {
    const auto from = static_cast<Rank>(chance.below(4));
    const auto to = static_cast<Rank>(chance.below(4));
    memory.push_back(pattern(chance.below(std::min<std::size_t>(limit, 3000) + 1), i));
    Request* owner = chance.in(500) ? e.pool().get() : nullptr;
    const Outcome o = e.send(from, to, whole(memory.back()), owner);
    EXPECT_TRUE(o == Outcome::done || (o == Outcome::queued && owner != nullptr));
    if (o == Outcome::queued) queued[from].push_back(owner);
    expected[{from, to}].push_back(&memory.back());
    if (o == Outcome::done)
      memory.push_back(memory.back()), memory[memory.size() - 2].clear(),
          expected[{from, to}].back() = &memory.back();  // the sender may reuse its memory at once
  }
  e.settle();
  for (auto& [pair, sent] : expected) {
    auto& got = e[pair.second].received[pair.first];
    EXPECT_EQ(got.size(), sent.size()) << "seed " << seed;
    for (std::size_t i = 0; i < std::min(got.size(), sent.size()); ++i) EXPECT_EQ(got[i], *sent[i]) << "seed " << seed;
  }
  for (auto& [from, owners] : queued) {
    EXPECT_TRUE(e[from].method->drained());
    for (Request* r : owners) EXPECT_TRUE(e[from].sent.contains(r)) << "seed " << seed;
  }
  return e.world().log_hash();
}

TEST(Inproc, DeliversEverythingInOrderForEachPairWhateverChanceDoes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) traffic(seed);
}

TEST(Inproc, TheSameSeedGivesTheSameRun) {
  std::map<std::uint64_t, int> digests;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::uint64_t digest = traffic(seed);
    EXPECT_EQ(digest, traffic(seed)) << "seed " << seed;
    ++digests[digest];
  }
  EXPECT_EQ(digests.size(), 20u) << "different seeds give different runs";
}

TEST(Inproc, WithoutChanceEverythingArrivesWithTheNextPoll) {
  Endpoints e(2, {});
  const auto data = pattern(100, 1);
  Request* owner = e.pool().get();
  EXPECT_EQ(e.send(0, 1, whole(data), owner), Outcome::done);
  EXPECT_EQ(e[1].method->poll(), 1);
  ASSERT_EQ(e[1].received[0].size(), 1u);
  EXPECT_EQ(e[1].received[0][0], data);
  EXPECT_EQ(e[1].method->poll(), 0);
}

TEST(Inproc, AFullLinkAsksForRetryAndChangesNothing) {
  InprocRules rules;
  rules.link_frames = 3;
  Endpoints e(2, rules);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(e[0].method->send(1, Packet(Kind::SHORT), {}, nullptr), Outcome::done);
  EXPECT_EQ(e[0].method->send(1, Packet(Kind::SHORT), {}, nullptr), Outcome::retry);
  e.settle();
  EXPECT_EQ(e[1].received[0].size(), 3u);
  EXPECT_EQ(e[0].method->send(1, Packet(Kind::SHORT), {}, nullptr), Outcome::done);
}

TEST(Inproc, GetAndPutCopyExposedMemory) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    InprocRules rules = InprocRules::drawn(seed);
    rules.no_expose = 0;
    Endpoints e(2, rules);
    auto there = pattern(5000, 3);
    auto here = pattern(5000, 4);
    const auto expected = there;
    const std::uint64_t address = e[1].method->expose(0, DataView::contiguous(there.data(), there.size()));
    ASSERT_NE(address, 0u);
    Request* r = e.pool().get();
    Outcome o = Outcome::retry;
    while (o == Outcome::retry) {
      o = e[0].method->get(1, address, DataView::contiguous(here.data(), here.size()), 5000, r);
      e.poll_all();
    }
    e.settle();
    EXPECT_EQ(o == Outcome::queued, e[0].moved.contains(r));
    EXPECT_EQ(here, expected);
    here.assign(5000, std::byte{9});
    o = Outcome::retry;
    while (o == Outcome::retry) {
      o = e[0].method->put(1, address, DataView::contiguous(here.data(), here.size()), 4000, r);
      e.poll_all();
    }
    e.settle();
    EXPECT_EQ(there[3999], std::byte{9});
    EXPECT_EQ(there[4000], expected[4000]);
  }
}

TEST(Inproc, ADeathReachesEveryPeerOnceAndReleasesEveryOwner) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Endpoints e(3, InprocRules::drawn(seed));
    std::deque<std::vector<std::byte>> memory;
    std::vector<Request*> queued;
    const std::size_t bytes = std::min<std::size_t>(60, e.world().rules().fragment_max);
    Chance chance(seed);
    for (int i = 0; i < 40; ++i) {
      const bool outwards = chance.in(500);
      memory.push_back(pattern(bytes, i));
      Packet p(Kind::SHORT);
      p.length = static_cast<std::uint32_t>(bytes);
      Request* r = e.pool().get();
      const Outcome o = e[outwards ? 1 : 0].method->send(outwards ? 0 : 1, p, whole(memory.back()), r);
      if (o == Outcome::queued && !outwards) queued.push_back(r);
      if (chance.in(300)) e.poll_all();
    }
    e.world().kill(1);
    for (int turns = 0; e[0].lost.empty() || e[2].lost.empty(); ++turns) {
      ASSERT_LT(turns, 100000) << "seed " << seed;
      e[0].method->poll();
      e[2].method->poll();
    }
    EXPECT_EQ(e[0].lost, std::vector<Rank>{1});
    EXPECT_EQ(e[2].lost, std::vector<Rank>{1});
    for (Request* r : queued) EXPECT_TRUE(e[0].sent.contains(r)) << "seed " << seed;
    EXPECT_LE(e[0].torn, 1);
    EXPECT_EQ(e[0].method->send(1, Packet(Kind::SHORT), {}, nullptr), Outcome::failed);
    EXPECT_TRUE(e[0].method->drained());
    e.settle();
  }
}

TEST(Inproc, AnOrderlyEndIsNoDeath) {
  Endpoints e(2, InprocRules::drawn(5));
  const auto data = pattern(32, 1);
  Request* r = e.pool().get();
  e.send(0, 1, whole(data), r);
  e[0].method->close();
  EXPECT_TRUE(e[0].method->drained());
  e.settle();
  EXPECT_TRUE(e[1].lost.empty());
  ASSERT_EQ(e[1].received[0].size(), 1u);
  EXPECT_EQ(e[1].received[0][0], data);
  EXPECT_EQ(e[1].method->send(0, Packet(Kind::SHORT), {}, nullptr), Outcome::done);
}

TEST(Inproc, AThousandRanksCostOnlyTheLinksTheyUse) {
  Endpoints e(1000, {});
  for (Rank r = 0; r < 1000; ++r) {
    EXPECT_EQ(e[r].method->send((r + 1) % 1000, Packet(Kind::SHORT), {}, nullptr), Outcome::done);
  }
  e.settle();
  for (Rank r = 0; r < 1000; ++r) EXPECT_EQ(e[(r + 1) % 1000].received[r].size(), 1u);
}

}  // namespace
}  // namespace rmq::methods
