// SPDX-License-Identifier: BSD-3-Clause
// Packets of windows that no origin and no target of ours would send. Whatever comes, a rank touches no memory but its
// window's, does bounded work for a packet, and drops who sends what makes no sense with an error that names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "rma/fibers.hpp"
#include "rma/packet/put_list.hpp"
#include "tests/sanitized.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::Flavor;
using rma::Window;
using rma::WindowOptions;
using rmq::testing::Fibers;

constexpr std::uint32_t kId = 3;
constexpr std::size_t kGuard = 4096, kWindow = 1024;  // bytes
constexpr std::byte kUntouched{0x5a};

/// A window in the middle of memory that must stay as it is.
struct Guarded {
  std::vector<std::byte> memory = std::vector<std::byte>(kGuard + kWindow + kGuard, kUntouched);
  std::unique_ptr<Window> open(Fibers& f, int me) {
    WindowOptions o;
    o.id = kId;
    o.flavor = Flavor::create;
    o.base = memory.data() + kGuard;
    o.size = kWindow;
    return f.window(me, o);
  }
  bool is_whole() const {
    const auto untouched = [](std::byte b) { return b == kUntouched; };
    return std::all_of(memory.begin(), memory.begin() + kGuard, untouched) &&
           std::all_of(memory.end() - kGuard, memory.end(), untouched);
  }
};

/// Mostly what could be right, now and then what never is.
std::uint64_t draw_word(methods::Chance& chance) {
  switch (chance.below(8)) {
    case 0:
      return chance.next();
    case 1:
      return ~std::uint64_t{0} - chance.below(16);
    case 2:
      return std::uint64_t{1} << chance.below(64);
    case 3:
      return kWindow - 8 + chance.below(16);
    default:
      return chance.below(16);
  }
}

Packet draw_packet(methods::Chance& chance) {
  static constexpr Kind kKinds[] = {
      Kind::RMA_PUT,   Kind::RMA_GET,  Kind::RMA_ACCUMULATE, Kind::RMA_GET_ACCUMULATE, Kind::RMA_FETCH_OP,
      Kind::RMA_CAS,   Kind::RMA_ACK,  Kind::RMA_REPLY,      Kind::RMA_LOCK_GRANTED,   Kind::RMA_UNLOCK,
      Kind::RMA_FLUSH, Kind::RMA_SYNC, Kind::DATATYPE_DEFN,  Kind::DATATYPE_MISS,      Kind::RMA_PUT_LIST};
  Packet p(kKinds[chance.below(std::size(kKinds))]);
  for (const PacketField& field : find_packet_kind(p.kind)->fields) {
    std::uint64_t value = draw_word(chance);
    if (field.name == "ticket" && chance.in(800)) value = (1 + chance.below(4)) << 8 | chance.below(4);
    std::memcpy(reinterpret_cast<std::byte*>(&p) + field.offset, &value, field.size);
  }
  p.context = chance.in(950) ? kId : kId + 1;
  p.source = 1;
  // Operation, element and its size, as accumulates have them.
  const std::uint64_t element =
      chance.in(500) ? 8 << 16 | static_cast<unsigned>(Basic::i64) << 8 | chance.below(15) : draw_word(chance);
  p.tag = static_cast<std::int32_t>(element);
  p.flags = chance.in(300) ? static_cast<std::uint8_t>(chance.below(256)) : std::uint8_t{0};
  return p;
}

TEST(RmaHostile, RandomPacketsTouchNothingButTheWindow) {
  int dropped = 0;
  for (std::uint64_t seed = 1; seed <= repeated(2000u); ++seed) {
    methods::InprocRules rules = methods::InprocRules::drawn(seed);
    rules.shared_memory = false;
    rules.fragment_max = std::max<std::size_t>(rules.fragment_max, 512);
    Fibers f(2, rules);
    Guarded guarded[2];
    bool over = false;
    std::vector<std::int64_t> results(64, 0);
    std::unique_ptr<Window> windows[2];
    EXPECT_TRUE(f.run([&](int me) {
      windows[me] = guarded[me].open(f, me);
      if (me == 0) {
        // Answers have something to hit, too.
        EXPECT_EQ(windows[0]->lock_all(rma::assertion::nocheck), Fault::none);
        const LayoutRef word = Layout::basic(Basic::i64, 8);
        for (std::size_t i = 0; i < results.size(); ++i) {
          const Fault fault = windows[0]->get(DataView::contiguous(&results[i], 8), {1, 0, word.get(), 1});
          EXPECT_TRUE(fault == Fault::none || fault == Fault::peer_lost);
        }
        while (!over) f.device(0).MPID_Poll(false);
        return;
      }
      methods::Chance chance(seed);
      std::vector<std::byte> payload(512);
      for (int i = 0; i < 50; ++i) {  // few get that far: the first that makes no sense is the last
        for (std::byte& b : payload) b = static_cast<std::byte>(chance.next());
        if (chance.in(300)) {  // a datatype that is well-formed
          const LayoutRef type = Layout::hvector(chance.between(1, 4), 1, static_cast<std::int64_t>(chance.below(12)),
                                                 *Layout::basic(Basic::i64, 8));
          const std::vector<std::byte> bytes = type->serialise();
          Packet p(Kind::DATATYPE_DEFN);
          p.datatype_defn = {static_cast<std::uint32_t>(chance.between(1, 8)), static_cast<std::uint32_t>(bytes.size()),
                             0};
          f.device(1).send_packet(0, p, Payload{DataView::contiguous(bytes.data(), bytes.size()), 0, bytes.size()},
                                  nullptr);
        }
        Packet p = draw_packet(chance);
        const std::size_t bytes = chance.pick<std::size_t>({0, 8, 8, 16, 100, 512});
        f.device(1).send_packet(0, p, Payload{DataView::contiguous(payload.data(), bytes), 0, bytes}, nullptr);
        if (chance.in(500)) f.device(1).MPID_Poll(false);
      }
      for (int i = 0; i < 300; ++i) f.device(1).MPID_Poll(false);
      over = true;
    }));
    EXPECT_TRUE(guarded[0].is_whole()) << "seed " << seed;
    EXPECT_LE(f.domain(0).counters().protocol_errors, 1u) << "what comes behind it is not looked at";
    dropped += f.domain(0).counters().protocol_errors > 0;
  }
  EXPECT_GT(dropped, repeated(1000));
}

TEST(RmaHostile, ADatatypeThatRepeatsItselfAsksForNoMoreThanIsReasonable) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    Guarded guarded;
    auto w = guarded.open(f, me);
    std::vector<std::byte> into(16);
    if (me == 1) {
      EXPECT_EQ(w->lock_all(rma::assertion::nocheck), Fault::none);
      // Eight bytes, over and over: a few times are fine.
      const LayoutRef again = Layout::resized(*Layout::basic(Basic::i64, 8), 0, 0);
      EXPECT_EQ(w->get(DataView::contiguous(into.data(), 16), {0, 0, again.get(), 2}), Fault::none);
      EXPECT_EQ(w->flush(0), Fault::none);
      EXPECT_EQ(into[0], kUntouched);
      EXPECT_EQ(into[15], kUntouched);
      // What an origin of ours could not mean: an exabyte of answers.
      Packet p(Kind::RMA_GET);
      p.context = kId;
      p.source = 1;
      p.rma_get = {0, std::uint64_t{1} << 57, 0, 1, 0};
      f.device(1).send_packet(0, p, Payload{}, nullptr);
      for (int i = 0; i < 100; ++i) f.device(1).MPID_Poll(false);
      EXPECT_EQ(w->flush(0), Fault::type);
      EXPECT_EQ(w->unlock_all(), Fault::none);
    }
    f.barrier(me);
    f.close(me, std::move(w));
  }));
}

/// A window whose counts know nothing of what was sent cannot be closed. It stays to the end, in sight of leak
/// checkers.
void give_up(std::unique_ptr<Window> w) {
  static auto& given_up = *new std::vector<Window*>;
  given_up.push_back(w.release());
}

/// Rank 1 sends `packets` of its own making to rank 0, whose window lies in guarded memory; `check` sees rank 0
/// afterwards.
void attack(const std::function<void(Config&)>& adjust, const std::function<void(Fibers&)>& packets,
            const std::function<void(Fibers&, Window&)>& check, bool locked = false) {
  Fibers f(2, {}, adjust);
  Guarded guarded[2];
  bool over = false;
  EXPECT_TRUE(f.run([&](int me) {
    auto w = guarded[me].open(f, me);
    if (me == 0 && locked) {
      EXPECT_EQ(w->lock(rma::LockType::exclusive, 0, 0), Fault::none);
    }
    f.barrier(me);
    if (me == 1) {
      packets(f);
      for (int i = 0; i < 2000; ++i) f.device(1).MPID_Poll(false);
      over = true;
      give_up(std::move(w));
      return;
    }
    while (!over) f.device(0).MPID_Poll(false);
    check(f, *w);
    give_up(std::move(w));
  }));
  EXPECT_TRUE(guarded[0].is_whole());
}

/// Operation, element and its size, as accumulates have them in their tag.
std::int32_t combining(ReduceOp op, Basic basic, std::uint32_t packed) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(basic) << 8 |
                                   packed << 16);
}

Packet packet(Kind kind) {
  Packet p(kind);
  p.context = kId;
  p.source = 1;
  return p;
}

void send(Fibers& f, Packet p, const std::vector<std::byte>& payload) {
  f.device(1).send_packet(0, p, Payload{DataView::contiguous(payload.data(), payload.size()), 0, payload.size()},
                          nullptr);
}

void define(Fibers& f, std::uint32_t id, const std::vector<std::byte>& bytes) {
  Packet p(Kind::DATATYPE_DEFN);
  p.datatype_defn = {id, static_cast<std::uint32_t>(bytes.size()), 0};
  send(f, p, bytes);
}

/// A window in plain memory of rank 0. Collective.
std::unique_ptr<Window> open_plain(Fibers& f, int me, std::vector<std::byte>& memory, std::uint32_t id) {
  WindowOptions o;
  o.id = id;
  o.flavor = Flavor::create;
  o.base = memory.data();
  o.size = me == 0 ? memory.size() : 0;
  return f.window(me, o);
}

/// Rank 1 asks so many times for all of such a window.
void fetch_all(Fibers& f, std::size_t bytes, int times) {
  for (int i = 0; i < times; ++i) {
    Packet p = packet(Kind::RMA_GET_ACCUMULATE);
    p.tag = combining(ReduceOp::no_op, Basic::i64, 8);
    p.rma_put = {0, bytes, 0, 0, 0};
    send(f, p, {});
  }
}

/// `from` was dropped for what it sent.
void expect_dropped(Fibers& f, const char* why) {
  EXPECT_EQ(f.domain(0).counters().protocol_errors, 1u);
  const std::string error(f.device(0).peer_error(1));
  EXPECT_NE(error.find("rank 1 breaks the protocol and is given up: "), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(RmaHostile, PairsAtTheEndOfTheWindowStayInIt) {
  struct Pair {
    Basic basic;
    std::uint32_t packed;
  };
  for (const Pair pair : {Pair{Basic::i16_i32, 6}, Pair{Basic::f64_i32, 12}, Pair{Basic::f80_i32, 20}}) {
    for (const ReduceOp op : {ReduceOp::minloc, ReduceOp::maxloc, ReduceOp::replace}) {
      for (const bool typed : {false, true}) {
        attack(
            {},
            [&](Fibers& f) {
              // A datatype of bytes in a row that claims to be made of one pair. In the serialised form the one record
              // of its signature begins behind 52 bytes: kind, predefined type, bytes of one, how many.
              std::vector<std::byte> lie = Layout::contiguous(pair.packed, *Layout::basic(Basic::byte, 1))->serialise();
              const std::uint32_t unit = pair.packed;
              const std::uint64_t one = 1;
              lie[53] = static_cast<std::byte>(pair.basic);
              std::memcpy(&lie[54], &unit, sizeof unit);
              std::memcpy(&lie[58], &one, sizeof one);
              EXPECT_TRUE(Layout::deserialise(lie).has_value());
              define(f, 5, lie);
              for (const Kind kind : {Kind::RMA_ACCUMULATE, Kind::RMA_GET_ACCUMULATE}) {
                Packet p = packet(kind);
                p.tag = combining(op, pair.basic, pair.packed);
                p.rma_put = {kWindow - pair.packed, typed ? 1 : std::uint64_t{pair.packed}, 0, typed ? 5u : 0u, 0};
                send(f, p, std::vector<std::byte>(pair.packed, std::byte{1}));
              }
            },
            [](Fibers&, Window&) {});
      }
    }
  }
}

TEST(RmaHostile, WhatIsKeptForALockIsBounded) {
  attack(
      {},
      [&](Fibers& f) {
        Packet lock = packet(Kind::RMA_LOCK);
        lock.flags = rma_flag::lock_exclusive;
        send(f, lock, {});
        for (int i = 0; i < 20'000; ++i) {
          Packet p = packet(Kind::RMA_PUT);
          p.rma_put = {0, 512, 0, 0, 0};
          send(f, p, std::vector<std::byte>(512));
          if (i % 8 == 0) f.device(1).MPID_Poll(false);
        }
      },
      [](Fibers& f, Window&) {
        expect_dropped(f, "it has more under way than it may");
        EXPECT_LE(f.domain(0).counters().held_most, 5u << 19);  // a flight and a quarter
      },
      true);
}

TEST(RmaHostile, AnswersThatAreNotTakenAreBounded) {
  methods::InprocRules rules;
  rules.fragment_max = 512;
  Fibers f(2, rules);
  constexpr std::size_t kBytes = 256 * 1024;
  std::vector<std::byte> memory(kBytes);
  std::uint64_t most = 0;
  bool over = false;
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open_plain(f, me, memory, kId);
    f.barrier(me);
    if (me == 1) {
      fetch_all(f, kBytes, 250);  // all are there at once, and one answer fills what the link takes: 64 MB together
      f.stand_by([&] { return most > 0; });  // it asked for none, and gives rank 0 up for the first answer that it sees
      for (int i = 0; i < 2000; ++i) f.device(1).MPID_Poll(false);
      over = true;
    }
    while (!over) {
      f.device(0).MPID_Poll(false);
      most = std::max(most, f.device(0).backlog(1));
    }
    give_up(std::move(w));
  }));
  EXPECT_GT(most, 1u << 19);
  EXPECT_LT(most, 2u << 20);
}

// Somebody waits for what it signals, and nobody asked it for an answer.
TEST(RmaHostile, WhoDoesNotTakeItsAnswersIsHeardAllTheSame) {
  methods::InprocRules rules;
  rules.fragment_max = 512;
  Fibers f(2, rules);
  constexpr std::size_t kBytes = 256 * 1024;
  std::vector<std::byte> memory(kBytes);
  bool heard = false;
  EXPECT_TRUE(f.run([&](int me) {
    auto flooded = open_plain(f, me, memory, kId), quiet = open_plain(f, me, memory, kId + 1);
    f.barrier(me);
    const int other = 1 - me;
    if (me == 1) {
      fetch_all(f, kBytes, 20);
      EXPECT_EQ(quiet->post({&other, 1}, 0), Fault::none);
      f.stand_by([&] { return heard; });
    } else {
      EXPECT_EQ(quiet->start({&other, 1}, 0), Fault::none);
      EXPECT_EQ(quiet->complete(), Fault::none);
      EXPECT_GT(f.device(0).backlog(1), 1u << 20);
      heard = true;
    }
    f.barrier(me);
    give_up(std::move(quiet));
    give_up(std::move(flooded));
  }));
}

TEST(RmaHostile, NothingBehindABreachIsLookedAt) {
  attack(
      {},
      [&](Fibers& f) {
        Packet p = packet(Kind::RMA_PUT);
        p.rma_put = {0, 8, 1, 0, 0};
        send(f, p, std::vector<std::byte>(8, std::byte{1}));  // 8 bytes from the second on do not fit into 8
        p.rma_put = {8, 8, 0, 0, 0};
        send(f, p, std::vector<std::byte>(8, std::byte{1}));
      },
      [](Fibers& f, Window& w) {
        expect_dropped(f, "its data does not fit");
        EXPECT_EQ(static_cast<const std::byte*>(w.base())[8], kUntouched);
        EXPECT_EQ(w.lock(rma::LockType::shared, 1, 0), Fault::none);
        const std::int64_t word = 0;
        EXPECT_EQ(w.put(DataView::contiguous(&word, 8), {1, 0, Layout::basic(Basic::i64, 8).get(), 1}),
                  Fault::peer_lost);
        EXPECT_NE(w.lost().find("rank 1 breaks the protocol"), std::string::npos) << w.lost();
      });
}

TEST(RmaHostile, ABreachOfEachKindIsNamed) {
  struct Breach {
    Kind kind;
    std::function<void(Packet&)> change;
    const char* why;
  };
  const Breach breaches[] = {
      {Kind::RMA_SYNC, [](Packet& p) { p.rma_sync.what = 9; }, "signals nothing"},
      {Kind::RMA_ACK,
       [](Packet& p) {
         p.rma_ack = {77 << 8, 0, 0};
       },
       "it answers nothing that it was asked"},
      {Kind::RMA_ACK,
       [](Packet& p) {
         p.rma_ack = {0, 200, 0};
       },
       "a fault"},
      {Kind::RMA_LOCK_GRANTED,
       [](Packet& p) {
         p.rma_lock_granted = {0, 99};
       },
       "names a rank"},
      {Kind::RMA_REPLY,
       [](Packet& p) {
         p.rma_reply = {0, 77 << 8};
       },
       "it answers nothing that it was asked"},
      {Kind::DATATYPE_MISS, [](Packet& p) { p.datatype_miss.type = 5; }, "a datatype that there is not"},
      {Kind::DATATYPE_DEFN,
       [](Packet& p) {
         p.datatype_defn = {1, 100, 50};
       },
       "its definition of a datatype"},
      {static_cast<Kind>(78), [](Packet&) {}, "no packet of this kind"},
  };
  for (const Breach& b : breaches) {
    attack(
        {},
        [&](Fibers& f) {
          Packet p = packet(b.kind);
          b.change(p);
          send(f, p, {});
        },
        [&](Fibers& f, Window&) { expect_dropped(f, b.why); });
  }
}

/// Puts of one byte each, as their origin lists them; lengths as they are given.
std::vector<std::byte> list_of(std::initializer_list<std::pair<std::uint64_t, std::uint32_t>> puts) {
  std::vector<std::byte> list;
  for (const auto& [offset, bytes] : puts) {
    const std::size_t at = list.size();
    list.resize(at + rma::kPutHead + 1);
    rma::write_listed(&list[at], offset, "!", 1);
    std::memcpy(&list[at + sizeof offset], &bytes, sizeof bytes);
  }
  return list;
}

TEST(RmaHostile, AListOfPutsThatDoesNotAddUpIsABreach) {
  struct Breach {
    std::uint32_t puts;
    std::vector<std::byte> list;
  };
  std::vector<std::byte> cut = list_of({{0, 1}, {1, 1}});
  cut.resize(cut.size() - 2);
  const Breach breaches[] = {
      {0, {}},                                  // no list is empty
      {2, list_of({{0, 1}})},                   // fewer than it says
      {1, list_of({{0, 1}, {1, 1}})},           // more
      {2, cut},                                 // a head without its data
      {1, list_of({{0, 2}})},                   // data behind the end
      {1, list_of({{0, 0xffffffff}})},          // by far
      {2, list_of({{0, 1}, {1, 0xfffffff3}})},  // a length that would wrap
      {1, list_of({{0, 0}})},                   // no data
      {1, std::vector<std::byte>(rma::kPutHead - 1)},
  };
  for (const Breach& b : breaches) {
    attack(
        {},
        [&](Fibers& f) {
          Packet p = packet(Kind::RMA_PUT_LIST);
          p.rma_put_list.puts = b.puts;
          send(f, p, b.list);
        },
        [](Fibers& f, Window&) { expect_dropped(f, "its data does not fit"); });
  }
}

TEST(RmaHostile, APutOfAListStaysInTheWindowAndTheOthersAreDone) {
  attack(
      {},
      [&](Fibers& f) {
        Packet p = packet(Kind::RMA_PUT_LIST);
        p.rma_put_list.puts = 5;
        send(f, p,
             list_of({{0, 1}, {kWindow, 1}, {~std::uint64_t{0}, 1}, {std::uint64_t{1} << 63, 1}, {kWindow - 1, 1}}));
      },
      [](Fibers& f, Window& w) {
        EXPECT_EQ(f.domain(0).counters().protocol_errors, 0u);
        const auto* const memory = static_cast<const std::byte*>(w.base());
        EXPECT_EQ(memory[0], std::byte{'!'});
        EXPECT_EQ(memory[kWindow - 1], std::byte{'!'});
        EXPECT_EQ(std::count(f.sent(0).begin(), f.sent(0).end(), "RMA_ACK"), 1) << "one fault is told";
      });
}

TEST(RmaHostile, WhatComesForAWindowThatHasEndedDoesNoHarm) {
  attack(
      {},
      [&](Fibers& f) {
        Packet p = packet(Kind::RMA_UNLOCK);
        p.context = kId + 1;
        send(f, p, {});
      },
      [](Fibers& f, Window&) {
        EXPECT_EQ(f.domain(0).counters().stray_packets, 1u);
        EXPECT_EQ(f.domain(0).counters().protocol_errors, 0u);
        EXPECT_EQ(f.device(0).peer_error(1), "");
      });
}

TEST(RmaHostile, ADefinitionLargerThanWhatIsKeptIsRefusedAtItsFirstPiece) {
  attack([](Config& c) { c.rma_type_bytes = 4096; },
         [&](Fibers& f) {
           Packet p(Kind::DATATYPE_DEFN);
           p.datatype_defn = {1, 4097, 0};
           send(f, p, std::vector<std::byte>(512));
         },
         [](Fibers& f, Window&) { expect_dropped(f, "is larger than RMQ_RMA_TYPE_BYTES here"); });
}

TEST(RmaHostile, ARequestForALockNamesOneKindOfLock) {
  Packet none = packet(Kind::RMA_LOCK), both = none, sync = packet(Kind::RMA_SYNC);
  both.flags = rma_flag::lock_shared | rma_flag::lock_exclusive;
  sync.rma_sync = {2, 0, 1};
  sync.flags = rma_flag::lock_shared;
  for (const Packet& p : {none, both, sync}) {
    attack(
        {}, [&](Fibers& f) { send(f, p, {}); },
        [](Fibers& f, Window& w) {
          expect_dropped(f, "it may not ask for a lock like this");
          EXPECT_EQ(std::count(f.sent(0).begin(), f.sent(0).end(), "RMA_LOCK_GRANTED"), 0);
          EXPECT_EQ(w.lock(rma::LockType::exclusive, 0, 0), Fault::none);  // nobody has it
          EXPECT_EQ(w.unlock(0), Fault::none);
        });
  }
}

TEST(RmaHostile, AFetchIsAnsweredAPieceAtATime) {
  attack(
      {},
      [&](Fibers& f) {
        define(f, 6, Layout::resized(*Layout::basic(Basic::i64, 8), 0, 0)->serialise());
        Packet p = packet(Kind::RMA_GET_ACCUMULATE);
        p.tag = combining(ReduceOp::no_op, Basic::i64, 8);
        p.rma_put = {0, std::uint64_t{1} << 26, 0, 6, 0};  // 512 MB, of the same eight bytes
        send(f, p, {});
      },
      [](Fibers& f, Window&) {
        EXPECT_EQ(std::count(f.sent(0).begin(), f.sent(0).end(), "RMA_REPLY"), 4);  // 256 KB in fragments of 64 KB
      });
}

}  // namespace
