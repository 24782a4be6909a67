// SPDX-License-Identifier: BSD-3-Clause
// Credit, to its edges: whatever the sizes and the order of receives, a receive whose message has been sent completes,
// and its cost in packets and memory stays bounded. In-process worlds, which notice that nothing can happen any more.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "conformance/world.hpp"

namespace rmq::testing {
namespace {

// The least credit there is (adi/device.cpp), so that a few messages use it up; eager sizes as large as credit lets
// them.
constexpr std::size_t kCredit = 64 * 1024;

Setup calm(std::size_t link_frames = 4096) {
  methods::InprocRules rules;
  rules.eager_max = kCredit;
  rules.link_frames = link_frames;
  Setup s;
  s.name = "inproc";
  s.inproc = rules;
  s.adjust = [](Config& c) { c.unexpected_max = 1; };
  return s;
}

// One rank's traffic to another: everything that was started, to be given back in the end.
class Traffic {
 public:
  Traffic(World& world, int from, int to) : world_(world), from_(from), to_(to) {}
  void send(int tag, std::size_t bytes, int count = 1) {
    data_.push_back(std::make_unique<Buffer>(bytes, Shape::contiguous));
    for (int i = 0; i < count; ++i) sends_.push_back(world_.isend(from_, to_, tag, *data_.back()));
  }
  /// Posts a receive and lets the world run until it is complete.
  [[nodiscard]] bool receive(int tag) {
    Request* r = world_.irecv(to_, from_, tag, into_);
    if (!world_.wait(r, "a receive of a message that was sent")) return false;
    world_.free(to_, r);
    ++received_;
    return true;
  }
  [[nodiscard]] bool receive_the_rest() {
    while (received_ < sends_.size()) {
      if (!receive(kAnyTag)) return false;
    }
    if (!world_.wait_all(sends_, "the sends")) return false;
    for (Request* s : sends_) world_.free(from_, s);
    return true;
  }

 private:
  World& world_;
  const int from_, to_;
  std::vector<std::unique_ptr<Buffer>> data_;
  Buffer into_{kCredit, Shape::contiguous};
  std::vector<Request*> sends_;
  std::size_t received_ = 0;
};

// Three kinds of messages decide what a receiver with nothing to do knows of its sender: those that it has taken, whose
// credit it may not have returned yet; those that it keeps; and the one that it wants, which may wait for credit behind
// them. All mixes of a grid whose counts lie on both sides of every threshold.
TEST(Credit, AReceiveOfAMessageThatWasSentCompletesWhateverTheSizes) {
  const auto fit = [](std::size_t room, std::size_t bytes) {
    return static_cast<int>(room / (bytes + adi::kMessageRecord));
  };
  const std::size_t sizes[] = {0, 616, 2891, 8192, 15999, 16000, 16001, 16384};
  for (const std::size_t taken : sizes) {
    for (const std::size_t kept : sizes) {
      for (const std::size_t wanted : {std::size_t{0}, std::size_t{12000}, std::size_t{16000}, std::size_t{16384}}) {
        for (const int to_take : {0, fit(kCredit / 4 - 1, taken)}) {
          for (const int to_keep :
               {fit(kCredit / 2 - 1, kept), fit(kCredit / 2 - 1, kept) + 1, fit(kCredit, kept) + 1}) {
            World world(2, calm());
            ASSERT_TRUE(world.ok());
            Traffic traffic(world, 0, 1);
            traffic.send(1, taken, to_take);
            traffic.send(2, kept, to_keep);
            traffic.send(3, wanted);
            for (int i = 0; i < to_take; ++i) ASSERT_TRUE(traffic.receive(1));
            ASSERT_TRUE(traffic.receive(3)) << to_take << " of " << taken << " bytes taken, " << to_keep << " of "
                                            << kept << " kept, " << wanted << " wanted";
            const adi::Counters& c = world[1].counters();
            EXPECT_LE(c.unexpected_peak, world[1].unexpected_ceiling() + c.envelopes_granted * adi::kMessageRecord);
            world.abandon();
          }
        }
      }
    }
  }
}

// A link that is narrower than a grant refuses some of the envelopes; when their messages leave at last, there may be
// credit for them as they are.
TEST(Credit, AMessageThatTheLinkRefusedAsAnEnvelopeMayLeaveWithItsData) {
  World world(2, calm(/*link_frames=*/8));
  ASSERT_TRUE(world.ok());
  Traffic traffic(world, 0, 1);
  traffic.send(1, 1000, 300);
  traffic.send(2, 1000);
  ASSERT_TRUE(traffic.receive(2));  // for which envelopes are granted
  ASSERT_TRUE(traffic.receive_the_rest());
  EXPECT_EQ(world[1].counters().protocol_errors, 0u);
  EXPECT_GT(world[1].counters().envelopes_granted, 0u);
  world.abandon();
}

TEST(Credit, ARankThatWaitsInAnyMannerLetsThroughWhatItWaitsFor) {
  for (const char* manner : {"spin", "yield", "sleep", "auto"}) {
    World world(2, calm(), [&](Config& c) { c.wait = manner; });
    ASSERT_TRUE(world.ok());
    Traffic traffic(world, 0, 1);
    traffic.send(1, 1000, 100);
    traffic.send(2, 1000);
    Buffer into(1000, Shape::contiguous);
    Request* wanted = world.irecv(1, 0, 2, into);
    for (int turn = 0; turn < 1000000 && !wanted->complete(); ++turn) {
      world[0].MPID_Poll(false);
      world[1].MPID_Poll(true);
    }
    ASSERT_TRUE(wanted->complete()) << "a rank that waits by " << manner;
    world[1].MPID_Request_free(wanted);
    world.abandon();
  }
}

TEST(Credit, ARankThatOthersKeepBusyLetsThroughWhatItWaitsFor) {
  World world(3, calm());
  ASSERT_TRUE(world.ok());
  Traffic traffic(world, 0, 1);
  traffic.send(1, 1000, 100);
  traffic.send(2, 1000);
  Buffer into(1000, Shape::contiguous), ping(0, Shape::contiguous);
  Request* wanted = world.irecv(1, 0, 2, into);
  for (int turn = 0; turn < 100000 && !wanted->complete(); ++turn) {
    Request* r = world.irecv(1, 2, 3, ping);
    Request* s = world.isend(2, 1, 3, ping);
    world[0].MPID_Poll(false);
    world[2].MPID_Poll(false);
    world[1].MPID_Poll(true);
    ASSERT_TRUE(r->complete() && s->complete());  // so each poll of rank 1 has found something
    world.free(1, r);
    world.free(2, s);
  }
  EXPECT_TRUE(wanted->complete());
  world[1].MPID_Request_free(wanted);
  world.abandon();
}

// 170 empty messages use up the credit; their receiver returns it over a link that takes one packet.
TEST(Credit, CreditThatCannotBeReturnedYetWaitsInOnePacket) {
  World world(2, calm(1));
  ASSERT_TRUE(world.ok());
  constexpr int kCount = kCredit / adi::kMessageRecord;
  Buffer nothing(0, Shape::contiguous);
  std::vector<Request*> sends, receives;
  for (int i = 0; i < kCount; ++i) {
    receives.push_back(world.irecv(1, 0, 1, nothing));
    sends.push_back(world.isend(0, 1, 1, nothing));
    world[1].MPID_Poll(false);  // never rank 0: what is returned to it stays on the link
    ASSERT_TRUE(receives.back()->complete());
    ASSERT_LE(world[1].levels().packets, 1u);
  }
  ASSERT_TRUE(world.wait_all(sends, "the sends"));
  for (int i = 0; i < kCount; ++i) {
    world.free(0, sends[static_cast<std::size_t>(i)]);
    world.free(1, receives[static_cast<std::size_t>(i)]);
  }
  // All of it has come back: as much again leaves at once.
  world.settle();
  Traffic again(world, 0, 1);
  for (int i = 0; i < kCount * 2 / 3; ++i) {
    again.send(1, 0);
    world.turn();
  }
  EXPECT_EQ(world[0].counters().pending, 0u);
  EXPECT_TRUE(again.receive_the_rest());
}

// Six ranks fill most of their credit. Five of them are granted all envelopes that there are, and need none at first.
TEST(Credit, EnvelopesThatARankDoesNotNeedAreThereForOthers) {
  World world(7, calm(), [](Config& c) { c.envelopes_max = 64; });
  ASSERT_TRUE(world.ok());
  std::vector<std::unique_ptr<Traffic>> senders;
  for (int rank = 1; rank < 7; ++rank) senders.push_back(std::make_unique<Traffic>(world, rank, 0));
  for (int rank = 1; rank < 6; ++rank) senders[static_cast<std::size_t>(rank) - 1]->send(1, 1000, 40);
  Buffer never(0, Shape::contiguous);
  Request* waiting = world.irecv(0, 1, 7, never);
  for (int turn = 0; turn < 10000; ++turn) world.turn();
  EXPECT_GE(world[0].counters().envelopes_granted, 60u);
  // The sixth, and then the first, which has to ask for some.
  for (const std::size_t one : {5u, 0u}) {
    senders[one]->send(1, 1000, one == 5 ? 60 : 30);  // what is kept may not need more envelopes than there are
    senders[one]->send(2, 1000);
    ASSERT_TRUE(senders[one]->receive(2)) << "rank " << one + 1;
  }
  for (auto& sender : senders) ASSERT_TRUE(sender->receive_the_rest());
  EXPECT_EQ(world[0].counters().protocol_errors, 0u);
  world[0].MPID_Cancel(waiting);
  world.free(0, waiting);
  world.abandon();
}

TEST(Credit, EnvelopesThatALostRankDidNotUseAreThereForOthers) {
  World world(3, calm(), [](Config& c) { c.envelopes_max = 64; });
  ASSERT_TRUE(world.ok());
  Traffic doomed(world, 2, 1), traffic(world, 0, 1);
  doomed.send(1, 1000, 40);  // more than half of its credit; then it computes
  Buffer never(0, Shape::contiguous);
  Request* waiting = world.irecv(1, 0, 7, never);
  for (int turn = 0; turn < 100000 && world[1].counters().envelopes_granted == 0; ++turn) world[1].MPID_Poll(true);
  ASSERT_EQ(world[1].counters().envelopes_granted, 32u);
  world.kill(2);
  ASSERT_TRUE(world.run_until([&] { return !world[1].peer_error(2).empty(); }, "the news of the death"));
  traffic.send(1, 1000, 60);
  traffic.send(2, 1000);
  EXPECT_TRUE(traffic.receive(2));
  world[1].MPID_Cancel(waiting);
  world.free(1, waiting);
  world.abandon();
}

// What RMQ_EAGER_MAX says of messages to others holds for those to oneself.
TEST(Credit, MessagesToOneselfAreBufferedUpToEagerMax) {
  World world(1, calm(), [](Config& c) { c.eager_max = 1000; });
  ASSERT_TRUE(world.ok());
  for (const std::size_t bytes : {1000u, 1001u}) {
    Buffer from(bytes, Shape::contiguous), into(bytes, Shape::contiguous);
    Request* const send = world.isend(0, 0, 1, from);
    EXPECT_EQ(send->complete(), bytes <= 1000);
    Request* const recv = world.irecv(0, 0, 1, into);
    ASSERT_TRUE(world.wait_all({send, recv}, "a message to oneself"));
    world.free(0, send);
    world.free(0, recv);
  }
  world.abandon();
}

}  // namespace
}  // namespace rmq::testing
