// SPDX-License-Identifier: BSD-3-Clause
// Send modes, cancel, and operations started again and again.
#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

TEST_P(Conformance, ASynchronousSendCompletesOnlyWhenItIsMatched) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    const Buffer data = message(bytes + 1, bytes);
    Request* send = world().isend(0, 1, 1, data, SendMode::synchronous);
    Buffer wrong(bytes, Shape::contiguous), into(bytes, Shape::contiguous);
    Request* other = world().irecv(1, 0, 2, wrong);
    world().settle();
    EXPECT_FALSE(send->complete()) << bytes;
    Request* recv = world().irecv(1, 0, 1, into);
    ASSERT_TRUE(world().wait_all({recv, send}, "a synchronous send"));
    expect_message(1, recv, into, bytes + 1, bytes, 0, 1);
    expect_sent(0, send);
    rank(1).MPID_Cancel(other);
    ASSERT_TRUE(world().wait(other, "a cancelled receive"));
    world().free(1, other);
  }
  expect_clean();
}

TEST_P(Conformance, AReadySendMeetsItsReceive) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    const Buffer data = message(bytes + 1, bytes);
    Buffer into(bytes, Shape::contiguous);
    Request* recv = world().irecv(1, 0, 1, into);
    Request* send = world().isend(0, 1, 1, data, SendMode::ready);
    ASSERT_TRUE(world().wait_all({recv, send}, "a ready send"));
    expect_message(1, recv, into, bytes + 1, bytes, 0, 1);
    expect_sent(0, send);
  }
}

TEST_P(Conformance, ACancelledReceiveTakesNoMessage) {
  ASSERT_TRUE(open(2));
  Buffer withdrawn(64, Shape::contiguous), into(64, Shape::contiguous);
  for (int source : {0, static_cast<int>(kAnySource)}) {
    for (int tag : {3, static_cast<int>(kAnyTag)}) {
      Request* r = world().irecv(1, source, tag, withdrawn);
      rank(1).MPID_Cancel(r);
      ASSERT_TRUE(world().wait(r, "a cancelled receive"));
      EXPECT_TRUE(r->status.cancelled);
      EXPECT_EQ(r->status.error, Errc::ok);
      world().free(1, r);
    }
  }
  const Buffer data = message(1, 64);
  Request* send = world().isend(0, 1, 3, data);
  Request* recv = world().irecv(1, 0, 3, into);
  ASSERT_TRUE(world().wait_all({send, recv}, "the message after a cancel"));
  EXPECT_TRUE(withdrawn.guards_hold(0));
  rank(1).MPID_Cancel(recv);
  EXPECT_FALSE(recv->status.cancelled) << "too late";
  expect_message(1, recv, into, 1, 64, 0, 3);
  expect_sent(0, send);
  expect_clean();
}

TEST_P(Conformance, ASendThatIsStillUnexpectedCanBeTakenBack) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    for (SendMode mode : {SendMode::standard, SendMode::synchronous}) {
      const Buffer gone = message(1, bytes), stays = message(2, bytes);
      Request* first = world().isend(0, 1, 4, gone, mode);
      Request* second = world().isend(0, 1, 4, stays, mode);
      rank(0).MPID_Cancel(first);
      ASSERT_TRUE(world().wait(first, "a cancelled send"));
      EXPECT_TRUE(first->status.cancelled) << bytes;
      EXPECT_EQ(first->status.error, Errc::ok);
      world().free(0, first);
      Buffer into(bytes, Shape::contiguous);
      Request* recv = world().irecv(1, 0, 4, into);
      ASSERT_TRUE(world().wait_all({recv, second}, "the message behind a cancelled one"));
      expect_message(1, recv, into, 2, bytes, 0, 4);
      expect_sent(0, second);
    }
  }
  world().settle();
  expect_clean();
}

// A link may have a message delivered, and taken back, before it tells that it needs the data no longer.
TEST_P(Conformance, ASendThatWasTakenBackIsNotOverBeforeTheLinkLetsGoOfIt) {
  if (!GetParam().inproc) GTEST_SKIP() << "in-process links choose when they let go";
  auto late = GetParam();
  late.inproc->told_late = 1000;
  late.inproc->retry = 0;
  World world(2, late);
  ASSERT_TRUE(world.ok());
  for (int round = 0; round < 50; ++round) {
    for (SendMode mode : {SendMode::standard, SendMode::synchronous}) {
      for (std::size_t bytes : {0, 100, 50000}) {
        const Buffer data = message(1, bytes);
        Request* send = world.isend(0, 1, 4, data, mode);
        world[0].MPID_Cancel(send);
        ASSERT_TRUE(world.wait(send, "a cancelled send"));
        EXPECT_TRUE(send->status.cancelled) << bytes;
        EXPECT_EQ(send->status.error, Errc::ok);
        EXPECT_EQ(world.inproc()->under_way(), 0u) << bytes << " bytes are still in the hands of the link";
        world.free(0, send);
      }
    }
  }
  world.settle();
  for (int r : {0, 1}) {
    EXPECT_EQ(world[r].pool().alive(), 0u);
    EXPECT_EQ(world[r].counters().protocol_errors, 0u);
  }
}

TEST_P(Conformance, ASendThatWasMatchedCannotBeTakenBack) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    const Buffer data = message(7, bytes);
    Buffer into(bytes, Shape::contiguous);
    Request* recv = world().irecv(1, 0, 4, into);
    Request* send = world().isend(0, 1, 4, data);
    rank(0).MPID_Cancel(send);
    ASSERT_TRUE(world().wait(send, "a cancel that comes too late"));
    if (send->status.cancelled) {
      // Only a send that the link had not taken yet may still be taken back; then both sides agree on it.
      EXPECT_TRUE(GetParam().name != "inproc") << bytes;
      world().free(0, send);
      rank(1).MPID_Cancel(recv);
      ASSERT_TRUE(world().wait(recv, "a receive whose message is gone"));
      EXPECT_TRUE(recv->status.cancelled);
      world().free(1, recv);
      continue;
    }
    ASSERT_TRUE(world().wait(recv, "a receive whose message was not cancelled"));
    expect_message(1, recv, into, 7, bytes, 0, 4);
    expect_sent(0, send);
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, TheSameOperationCanBeStartedManyTimes) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : {std::size_t{32}, eager_max() + 1, std::size_t{100000}}) {
    Buffer data = message(0, bytes), into(bytes, Shape::contiguous);
    for (std::uint64_t round = 0; round < 100; ++round) {
      data.fill(message_bytes(round, bytes));
      Request* recv = world().irecv(1, 0, 1, into);
      Request* send = world().isend(0, 1, 1, data);
      ASSERT_TRUE(world().wait_all({recv, send}, "a restarted operation"));
      expect_message(1, recv, into, round, bytes, 0, 1);
      expect_sent(0, send);
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, ARequestThatIsGivenBackEarlyIsFinishedAnyhow) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    const Buffer data = message(3, bytes);
    Request* send = world().isend(0, 1, 1, data);
    world().free(0, send);
    Buffer into(bytes, Shape::contiguous);
    Request* recv = world().irecv(1, 0, 1, into);
    ASSERT_TRUE(world().wait(recv, "a message nobody waits for"));
    expect_message(1, recv, into, 3, bytes, 0, 1);
    ASSERT_TRUE(world().run_until([&] { return rank(0).pool().alive() == 0; }, "the request to go back"));
  }
  world().settle();
  expect_clean();
}

}  // namespace
}  // namespace rmq::testing
