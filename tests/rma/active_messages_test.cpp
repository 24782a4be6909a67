// SPDX-License-Identifier: BSD-3-Clause
// Active messages on in-process devices: random programs of requests and replies of every kind and size, of which each
// must be handled once, in order and whole; what comes from members that break the rules; members that are lost.
#include "rma/am/active_messages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "methods/chance.hpp"
#include "rma/fibers.hpp"
#include "tests/sanitized.hpp"

namespace rmq::active_messages {
namespace {

using rma::ActiveMessage;
using rma::ActiveMessages;
using rma::Arrival;
using rma::Hub;
using rmq::testing::Fibers;

constexpr int kRanks = 3;
constexpr std::uint32_t kId = 9;
constexpr std::size_t kSlot = 20'000;
enum Handler { kRequest, kReply };

struct Words {
  std::uint32_t number, bytes, answer;  // 0: no reply; 1: without data; 2: with the data; 3: the data, into a place
};

methods::InprocRules rules_of(std::uint64_t seed) {
  methods::InprocRules rules = methods::InprocRules::drawn(seed);
  rules.fragment_max = std::max(rules.fragment_max, ActiveMessages::kArgsMost);
  return rules;
}

std::byte byte_of(int from, std::uint32_t number, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from) * 131 + number * 17 + i * 7 + (i >> 8));
}

/// One rank's side.
class Member {
 public:
  Member(Fibers& fibers, int me, std::vector<std::string>& faults, std::uint64_t seed)
      : fibers_(fibers),
        me_(me),
        faults_(faults),
        chance_(seed * 77 + static_cast<std::uint64_t>(me)),
        hub_(fibers.device(me)),
        set_(hub_, kId, Ranks::rule(0, kRanks), me),
        memory_(kSlot * kRanks * 2) {
    set_.set_handler(
        kRequest, [](Arrival& a, void* self) { static_cast<Member*>(self)->on_request(a); }, this);
    set_.set_handler(
        kReply, [](Arrival& a, void* self) { static_cast<Member*>(self)->on_reply(a); }, this);
    const std::uint64_t mine[] = {reinterpret_cast<std::uintptr_t>(memory_.data())};
    bases_ = fibers.gather(me, mine);
    std::vector<ActiveMessages::Attached> all;
    for (const std::uint64_t base : bases_) all.push_back({base, memory_.size()});
    set_.attach(std::move(all));
    fibers.barrier(me);
  }

  void run(int steps) {
    std::vector<std::byte> data(kSlot);
    for (int i = 0; i < steps; ++i) {
      const auto to = static_cast<int>(chance_.below(kRanks));
      Words w{next_[to]++, chance_.pick<std::uint32_t>({0, 1, 16, 29, 500, 2048, 2049, 7000, 8192, 20000}),
              static_cast<std::uint32_t>(chance_.below(4))};
      const bool placed = chance_.in(400);
      if (placed) expect(set_.flush(to) == ActiveMessages::Sent::done, "flush");  // one at a time has the place
      for (std::size_t k = 0; k < w.bytes; ++k) data[k] = byte_of(me_, w.number, k);
      wanted_ += w.answer != 0;
      const ActiveMessage m{
          kRequest, std::as_bytes(std::span(&w, 1)), {data.data(), w.bytes}, placed ? place(to, me_) : 0};
      expect(set_.request(to, m) == ActiveMessages::Sent::done, "request");
      std::fill_n(data.begin(), w.bytes, std::byte{0xee});
      if (chance_.in(300)) fibers_.device(me_).MPID_Poll(false);
    }
    expect(set_.flush_all() == ActiveMessages::Sent::done, "flush");
    expect(answered_ == wanted_, fmt::format("rank {}: {} replies of {}", me_, answered_, wanted_));
    fibers_.barrier(me_);
    std::vector<std::uint64_t> sent;
    for (int to = 0; to < kRanks; ++to) sent.push_back(next_[to]);
    const auto all = fibers_.gather(me_, sent);
    for (int from = 0; from < kRanks; ++from)
      expect(all[static_cast<std::size_t>(from * kRanks + me_)] == came_[from], "requests are missing");
  }
  ActiveMessages& set() { return set_; }

 private:
  void expect(bool good, const std::string& what) {
    if (!good) faults_.push_back(what);
  }
  std::uint64_t place(int rank, int from, bool reply = false) {
    return bases_[static_cast<std::size_t>(rank)] + static_cast<std::size_t>(from + (reply ? kRanks : 0)) * kSlot;
  }
  void check_data(const Arrival& a, int from, const Words& w) {
    for (std::size_t i = 0; i < a.data.size(); ++i) {
      if (a.data[i] != byte_of(from, w.number, i))
        return expect(false,
                      fmt::format("byte {} of {} of message {} from {} to {}", i, a.data.size(), w.number, from, me_));
    }
  }
  Words words_of(const Arrival& a) {
    Words w{};
    expect(a.args.size() == sizeof w, "arguments");
    std::memcpy(&w, a.args.data(), std::min(a.args.size(), sizeof w));
    return w;
  }
  void on_request(Arrival& a) {
    const Words w = words_of(a);
    expect(w.number == came_[a.source]++, "order of requests");
    expect(a.data.size() == w.bytes && a.may_reply, "size of a request");
    check_data(a, a.source, w);
    if (w.answer == 0) return;
    const auto data = w.answer == 1 ? std::span<const std::byte>() : std::span<const std::byte>(a.data);
    set_.reply(a, {kReply, a.args, data, w.answer == 3 ? place(a.source, me_, true) : 0});
  }
  void on_reply(Arrival& a) {
    const Words w = words_of(a);
    expect(!a.may_reply && a.data.size() == (w.answer == 1 ? 0 : w.bytes), "size of a reply");
    check_data(a, me_, w);
    ++answered_;
  }

  Fibers& fibers_;
  const int me_;
  std::vector<std::string>& faults_;
  methods::Chance chance_;
  Hub hub_;
  ActiveMessages set_;
  std::vector<std::byte> memory_;
  std::vector<std::uint64_t> bases_;
  std::map<int, std::uint32_t> next_, came_;
  std::uint64_t wanted_ = 0, answered_ = 0;
};

TEST(RmaActiveMessages, EachIsHandledOnceInOrderAndWhole) {
  for (std::uint64_t seed = 1; seed <= repeated(150u); ++seed) {
    Fibers f(kRanks, rules_of(seed));
    std::vector<std::string> faults;
    EXPECT_TRUE(f.run([&](int me) {
      Member m(f, me, faults, seed);
      m.run(60);
      f.barrier(me);
    })) << "seed "
        << seed;
    ASSERT_TRUE(faults.empty()) << "seed " << seed << ": " << faults.front();
  }
}

TEST(RmaActiveMessages, WhoHasAWindowOfThemUnderWayWaits) {
  Fibers f(2, {});
  std::uint64_t most = 0, sent = 0, handled = 0;
  EXPECT_TRUE(f.run([&](int me) {
    Hub hub(f.device(me));
    ActiveMessages set(hub, kId, Ranks::rule(0, 2), me);
    set.set_handler(
        0, [](Arrival&, void* n) { ++*static_cast<std::uint64_t*>(n); }, &handled);
    f.barrier(me);
    if (me == 0) {
      for (int i = 0; i < 2000; ++i) {
        EXPECT_EQ(set.request(1, {}), ActiveMessages::Sent::done);
        most = std::max(most, ++sent - handled);
      }
      EXPECT_EQ(set.flush(1), ActiveMessages::Sent::done);
      EXPECT_EQ(handled, 2000u);
    }
    f.barrier(me);
  }));
  EXPECT_LE(most, ActiveMessages::kWindow);
}

TEST(RmaActiveMessages, WaitsEndWithTheMemberThatIsLost) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    auto* const hub = new Hub(f.device(me));  // the dead one's stays
    auto* const set = new ActiveMessages(*hub, kId, Ranks::rule(0, 2), me);
    set->set_handler(
        0, [](Arrival&, void*) {}, nullptr);
    f.barrier(me);
    if (me == 1) {
      static auto& given_up = *new std::vector<const void*>;  // in sight of leak checkers
      given_up.insert(given_up.end(), {hub, set});
      f.die(me);
    }
    while (set->request(1, {}) == ActiveMessages::Sent::done) {
    }
    EXPECT_EQ(set->flush(1), ActiveMessages::Sent::lost);
    EXPECT_EQ(set->flush_all(), ActiveMessages::Sent::lost);
    EXPECT_EQ(set->wait(set->counters().handled), ActiveMessages::Sent::lost);
    delete set;
    delete hub;
  }));
}

/// Packets that no member of ours would send: memory but what is attached stays as it is, and their sender is dropped.
TEST(RmaActiveMessages, HostilePacketsTouchNothingButWhatIsAttached) {
  int dropped = 0;
  for (std::uint64_t seed = 1; seed <= repeated(2000u); ++seed) {
    methods::InprocRules rules = rules_of(seed);
    rules.shared_memory = false;
    rules.fragment_max = std::max<std::size_t>(rules.fragment_max, 512);
    Fibers f(2, rules);
    constexpr std::size_t kGuard = 1024, kOwn = 256;
    std::vector<std::byte> memory(kGuard * 2 + kOwn, std::byte{0x5a});
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(memory.data()) + kGuard;
    bool over = false;
    EXPECT_TRUE(f.run([&](int me) {
      Hub hub(f.device(me));
      ActiveMessages set(hub, kId, Ranks::rule(0, 2), me);
      const auto handler = [](Arrival& a, void*) {
        std::fill(a.data.begin(), a.data.end(), std::byte{1});
        if (a.may_reply) a.set.reply(a, {1, {}, {}, 0});
      };
      set.set_handler(0, handler, nullptr);
      set.set_handler(1, handler, nullptr);
      set.attach({{base, kOwn}, {base, kOwn}});
      f.barrier(me);
      if (me == 0) {
        while (!over) f.device(0).MPID_Poll(false);
        return;
      }
      methods::Chance chance(seed);
      const auto word = [&]() -> std::uint64_t {
        switch (chance.below(6)) {
          case 0:
            return chance.next();
          case 1:
            return base + chance.below(kOwn + 64) - 32;
          case 2:
            return base + (chance.in(500) ? 0 : kOwn - 8);
          case 3:
            return ~std::uint64_t{0} - chance.below(16);
          default:
            return chance.below(130);
        }
      };
      std::vector<std::byte> payload(512, std::byte{7});
      for (int i = 0; i < 40; ++i) {
        Packet p(static_cast<Kind>(static_cast<int>(Kind::AM_SHORT) + static_cast<int>(chance.below(5))));
        for (const PacketField& field : find_packet_kind(p.kind)->fields) {
          const std::uint64_t value = word();
          std::memcpy(reinterpret_cast<std::byte*>(&p) + field.offset, &value, field.size);
        }
        p.context = chance.in(950) ? kId : kId + 1;
        p.source = chance.in(950) ? 1 : static_cast<int>(chance.below(4)) - 1;
        p.tag = chance.in(900) ? static_cast<int>(chance.below(2)) : static_cast<int>(word());
        p.flags = static_cast<std::uint8_t>(chance.below(2));
        const std::size_t bytes = chance.pick<std::size_t>({0, 1, 16, 100, 128, 256, 512});
        f.device(1).send_packet(0, p, Payload{DataView::contiguous(payload.data(), bytes), 0, bytes}, nullptr);
        if (chance.in(500)) f.device(1).MPID_Poll(false);
      }
      for (int i = 0; i < 300; ++i) f.device(1).MPID_Poll(false);
      over = true;
    }));
    const auto untouched = [](std::byte b) { return b == std::byte{0x5a}; };
    EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + kGuard, untouched) &&
                std::all_of(memory.end() - kGuard, memory.end(), untouched))
        << "seed " << seed;
    dropped += !f.device(0).peer_error(1).empty();
  }
  EXPECT_GT(dropped, repeated(1000));
}

}  // namespace
}  // namespace rmq::active_messages
