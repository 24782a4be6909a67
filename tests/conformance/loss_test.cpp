// SPDX-License-Identifier: BSD-3-Clause
// The end of ranks: sudden deaths, and orderly ends with traffic still under way. Sudden deaths of real methods need
// real processes: process_test.cpp.
#include "conformance/fixture.hpp"
#include "tests/sanitized.hpp"

namespace rmq::testing {
namespace {

constexpr int kMoments = kSanitized ? 7 : 1;  // a world takes a quarter of a second each there

TEST_P(Conformance, FinalizeSendsWhatIsStillUnderWay) {
  ASSERT_TRUE(open(3));
  const Buffer small = message(1, 50), large = message(2, eager_max() + 100);
  std::vector<std::pair<int, Request*>> sends;
  Buffer into(eager_max() + 100, Shape::contiguous), unmatched(10, Shape::contiguous);
  // Posted and never matched, sent and never received: neither may hold up the end, nor may what is still moving.
  world().irecv(0, 1, 99, unmatched);
  for (int i = 0; i < 200; ++i) sends.emplace_back(0, world().isend(0, 1, 5, small));
  Request* recv = world().irecv(2, 1, 6, into);
  sends.emplace_back(1, world().isend(1, 2, 6, large));
  ASSERT_TRUE(world().wait_all({recv, sends.back().second}, "a long message at the end"));
  EXPECT_EQ(into.take(), message_bytes(2, into.bytes()));
  world().finalize();
}

TEST_P(Conformance, ADeathEndsWhatWaitsForTheDeadAndNothingElse) {
  if (!GetParam().inproc) GTEST_SKIP() << "process_test kills real processes";
  ASSERT_TRUE(open(3));
  Buffer a(100, Shape::contiguous), b(100, Shape::contiguous), c(100, Shape::contiguous), d(100, Shape::contiguous);
  Request* from_dead = world().irecv(0, 1, 1, a);
  Request* from_living = world().irecv(0, 2, 1, b);
  Request* from_anyone = world().irecv(0, kAnySource, 2, c);
  const Buffer long_data = message(1, 200000), short_data = message(2, 100);
  Request* to_dead = world().isend(0, 1, 1, long_data);
  world().kill(1);
  ASSERT_TRUE(world().wait_all({from_dead, to_dead}, "operations with a dead rank"));
  EXPECT_EQ(from_dead->status.error, Errc::peer_lost);
  EXPECT_EQ(to_dead->status.error, Errc::peer_lost);
  EXPECT_NE(rank(0).peer_error(1).find("rank 1"), std::string::npos) << rank(0).peer_error(1);
  EXPECT_FALSE(from_living->complete());
  EXPECT_FALSE(from_anyone->complete());

  Request* later = world().isend(0, 1, 1, short_data);
  Request* wanted = world().irecv(0, 1, 1, d);
  ASSERT_TRUE(world().wait_all({later, wanted}, "operations started after the death"));
  EXPECT_EQ(later->status.error, Errc::peer_lost);
  EXPECT_EQ(wanted->status.error, Errc::peer_lost);

  Request* s1 = world().isend(2, 0, 1, short_data);
  Request* s2 = world().isend(2, 0, 2, short_data);
  ASSERT_TRUE(world().wait_all({from_living, from_anyone, s1, s2}, "operations between the living"));
  expect_message(0, from_living, b, 2, 100, 2, 1);
  expect_message(0, from_anyone, c, 2, 100, 2, 2);
}

TEST_P(Conformance, APeerThatBreaksTheProtocolIsLostByNameAndNobodyElseIs) {
  ASSERT_TRUE(open(3));
  Buffer small(100, Shape::contiguous), large(200000, Shape::contiguous), after(200000, Shape::contiguous);
  const Buffer data = message(1, 200000);
  Request* waits = world().irecv(0, 1, 1, small);
  Request* half = world().irecv(0, 1, 2, large);
  Request* out = world().isend(0, 1, 3, data);  // announced, perhaps on its way
  world().settle();
  Packet bad(Kind::RNDV_DONE);
  bad.rndv_done.request = waits->self.wire();
  methods::Method& link = *rank(1).methods().front();
  ASSERT_TRUE(world().run_until([&] { return link.send(0, bad, {}, nullptr) != methods::Outcome::retry; }, "a packet"));
  ASSERT_TRUE(world().wait_all({waits, half, out}, "operations with the rank that was dropped"));
  for (const Request* r : {waits, half, out}) EXPECT_EQ(r->status.error, Errc::peer_lost);
  // Each was told of when it was known why, whether it waited, was landing, or lay in the link.
  ASSERT_EQ(World::failures.size(), 3u);
  for (const std::string& why : World::failures)
    EXPECT_NE(why.find("rank 1 breaks the protocol"), std::string::npos) << why;
  EXPECT_EQ(rank(0).counters().protocol_errors, 1u);
  EXPECT_NE(rank(0).peer_error(1).find("rank 1 breaks the protocol"), std::string::npos) << rank(0).peer_error(1);
  Request* from_living = world().irecv(0, 2, 2, after);
  Request* sent = world().isend(2, 0, 2, data);
  ASSERT_TRUE(world().wait_all({from_living, sent}, "operations between the others"));
  expect_message(0, from_living, after, 1, 200000, 2, 2);
  world().abandon();
}

// A receive of two messages, from whoever comes; one of the senders dies, at every moment.
TEST_P(Conformance, ADeathEndsOnlyItsShareOfAReceiveOfSeveral) {
  if (!GetParam().inproc) GTEST_SKIP() << "process_test kills real processes";
  auto by_packets = GetParam();
  by_packets.inproc->no_expose = 1000;
  by_packets.inproc->fragment_max = 5000;
  for (DestOp op : {DestOp::cat, DestOp::join}) {
    for (std::size_t bytes : {std::size_t{200}, std::size_t{40000}}) {
      for (int moment = 0; moment < 40; moment += kMoments) {
        for (bool posted : {true, false}) {
          World world(3, by_packets);
          ASSERT_TRUE(world.ok());
          const Buffer data(bytes, Shape::contiguous);
          Buffer into(2 * bytes, Shape::contiguous);
          Request* recv = world.make_recv(0, kAnySource, 1, into);
          recv->dest_op = op;
          recv->parts = 2;
          recv->join_op = ReduceOp::sum;
          recv->join_type = Basic::i8;
          if (posted) world[0].MPID_Irecv(recv);
          world.isend(1, 0, 1, data);
          if (moment % 2) world.isend(2, 0, 1, data);
          for (int turn = 0; turn < moment; ++turn) world.turn();
          world.kill(1);
          ASSERT_TRUE(world.run_until([&] { return !world[0].peer_error(1).empty(); }, "the news of the death"));
          if (!posted) world[0].MPID_Irecv(recv);
          // Enough for either case: whether the dead rank's message was matched or never came.
          std::vector<Request*> sends{world.isend(2, 0, 1, data), world.isend(2, 0, 1, data)};
          ASSERT_TRUE(world.wait(recv, "a receive of two messages"));
          world.settle();
          EXPECT_EQ(recv->incomplete.load(), 0) << "moment " << moment;
          EXPECT_EQ(world[0].posted(), 0u) << "moment " << moment;
          EXPECT_TRUE(recv->status.error == Errc::ok || recv->status.error == Errc::peer_lost);
          // Whoever came first for "anybody": that its share failed is told at once.
          EXPECT_EQ(World::failures.size(), recv->status.error == Errc::ok ? 0u : 1u) << "moment " << moment;
          world.free(0, recv);
          EXPECT_EQ(world[0].pool().alive(), world[0].unexpected()) << "moment " << moment;
          EXPECT_EQ(world[0].counters().protocol_errors, 0u);
          world.abandon();
        }
      }
    }
  }
}

// As a collective does: one receive for the messages of a whole group, of which one will never come.
TEST_P(Conformance, AReceiveThatNeedsAGroupFailsWithTheFirstThatIsLost) {
  if (!GetParam().inproc) GTEST_SKIP() << "process_test kills real processes";
  const Ranks all{0, 1, 2}, others{0, 2};
  for (const bool posted : {true, false}) {
    for (const bool second_came : {true, false}) {
      ASSERT_TRUE(open(3));
      Buffer a(8, Shape::contiguous), b(8, Shape::contiguous);
      const Buffer data(8, Shape::contiguous);
      const auto join = [&](Buffer& into, int tag, const Ranks& group) {
        Request* r = world().make_recv(0, kAnySource, tag, into);
        r->dest_op = DestOp::join;
        r->parts = static_cast<std::uint32_t>(group.size()) - 1;
        r->join_op = ReduceOp::bor;
        r->join_type = Basic::i8;
        r->flags |= request_flag::grouped;
        r->group = &group;
        return r;
      };
      Request *with = join(a, 1, all), *without = join(b, 2, others);
      if (posted) rank(0).MPID_Irecv(with), rank(0).MPID_Irecv(without);
      if (second_came) world().isend(2, 0, 1, data);
      world().settle();
      world().kill(1);
      ASSERT_TRUE(world().run_until([&] { return !rank(0).peer_error(1).empty(); }, "the news of the death"));
      if (!posted) rank(0).MPID_Irecv(with), rank(0).MPID_Irecv(without);
      ASSERT_TRUE(world().wait(with, "what needs the dead"));
      EXPECT_EQ(with->status.error, Errc::peer_lost);
      EXPECT_FALSE(without->complete());
      world().isend(2, 0, 2, data);
      ASSERT_TRUE(world().wait(without, "what does not"));
      EXPECT_EQ(without->status.error, Errc::ok);
      EXPECT_EQ(rank(0).posted(), 0u);
      world().free(0, with);
      world().free(0, without);
      world().abandon();
    }
  }
}

TEST_P(Conformance, AnEnvelopeOfTheDeadWhoseDataIsGoneGivesAnError) {
  if (!GetParam().inproc) GTEST_SKIP() << "process_test kills real processes";
  ASSERT_TRUE(open(2));
  const Buffer data = message(1, 200000);
  world().isend(1, 0, 1, data);
  adi::Envelope e;
  ASSERT_TRUE(world().run_until([&] { return rank(0).MPID_Iprobe(world().pattern(1, 1), e); }, "the envelope"));
  world().kill(1);
  ASSERT_TRUE(world().run_until([&] { return !rank(0).peer_error(1).empty(); }, "the news of the death"));
  Buffer into(200000, Shape::contiguous);
  Request* recv = world().irecv(0, kAnySource, 1, into);
  ASSERT_TRUE(world().wait(recv, "a receive of data that is gone"));
  EXPECT_EQ(recv->status.error, Errc::peer_lost);
  EXPECT_EQ(recv->peer, 1);
}

}  // namespace
}  // namespace rmq::testing
