// SPDX-License-Identifier: BSD-3-Clause
// Data arrives whole, in any shape and size, and nothing else is touched.
#include <sys/mman.h>

#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

TEST_P(Conformance, EverySizeAroundEveryThresholdArrivesWhole) {
  ASSERT_TRUE(open(2));
  std::uint64_t id = 0;
  for (std::size_t bytes : edge_sizes()) {
    for (bool posted : {true, false}) {
      const Buffer data = message(++id, bytes);
      Buffer into(bytes + 3, Shape::contiguous);
      Request* recv = posted ? world().irecv(1, 0, 7, into) : nullptr;
      Request* send = world().isend(0, 1, 7, data);
      if (!posted) {
        world().settle();
        recv = world().irecv(1, 0, 7, into);
      }
      ASSERT_TRUE(world().wait_all({recv, send}, "a message of " + std::to_string(bytes) + " bytes"));
      expect_message(1, recv, into, id, bytes, 0, 7);
      expect_sent(0, send);
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, DataThatTheKernelDoesNotCopyTravelsInPackets) {
  if (GetParam().method != "shm") GTEST_SKIP() << "only shared memory lets the kernel copy";
  ASSERT_TRUE(open(2));
  std::uint64_t id = 0;
  for (const std::size_t bytes : {std::size_t{60000}, std::size_t{1} << 20}) {
    const Buffer data = message(++id, bytes);
    Buffer into(bytes, Shape::contiguous);
    Request* send = world().isend(0, 1, 7, data);
    world().settle();
    // Whole pages in the middle of the data that nobody may touch: the kernel refuses them as it does a device's.
    constexpr std::uintptr_t kPage = 4096;
    const auto from = (reinterpret_cast<std::uintptr_t>(data.view().base) + kPage - 1) / kPage * kPage;
    const std::size_t length = (bytes - 2 * kPage) / kPage * kPage;
    ASSERT_EQ(::mprotect(reinterpret_cast<void*>(from), length, PROT_NONE), 0);
    Request* recv = world().irecv(1, 0, 7, into);
    for (int i = 0; i < 1000; ++i) rank(1).MPID_Poll(false);
    ASSERT_EQ(::mprotect(reinterpret_cast<void*>(from), length, PROT_READ | PROT_WRITE), 0);
    ASSERT_TRUE(world().wait_all({recv, send}, "the data in packets"));
    expect_message(1, recv, into, id, bytes, 0, 7);
    expect_sent(0, send);
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, ScatteredMemoryOnBothSidesKeepsItsOrder) {
  ASSERT_TRUE(open(2));
  std::uint64_t id = 100;
  constexpr Shape kShapes[] = {Shape::contiguous, Shape::strided, Shape::ragged};
  for (std::size_t bytes : edge_sizes()) {
    for (Shape from : kShapes) {
      for (Shape to : kShapes) {
        const Buffer data = message(++id, bytes, from);
        Buffer into(bytes, to, id + 1000);
        const bool posted = id % 2 == 0;
        Request* recv = posted ? world().irecv(1, 0, 1, into) : nullptr;
        Request* send = world().isend(0, 1, 1, data);
        if (!posted) recv = world().irecv(1, 0, 1, into);
        ASSERT_TRUE(world().wait_all({recv, send}, "a scattered message of " + std::to_string(bytes) + " bytes"));
        expect_message(1, recv, into, id, bytes, 0, 1);
        expect_sent(0, send);
      }
    }
  }
}

TEST_P(Conformance, AMessageThatIsTooLongIsCutAndLaterOnesAreNot) {
  ASSERT_TRUE(open(2));
  std::uint64_t id = 0;
  for (std::size_t bytes : edge_sizes()) {
    if (bytes == 0) continue;
    for (std::size_t room : {std::size_t{0}, bytes / 2, bytes - 1}) {
      for (bool posted : {true, false}) {
        const Buffer data = message(++id, bytes);
        const Buffer next = message(id + 100000, 50);
        Buffer into(room, id % 3 == 0 ? Shape::ragged : Shape::contiguous, id);
        Buffer into_next(50, Shape::contiguous);
        std::vector<Request*> all;
        const auto receive = [&] {
          all.push_back(world().irecv(1, 0, 3, into));
          all.push_back(world().irecv(1, 0, 3, into_next));
        };
        if (posted) receive();
        Request* send = world().isend(0, 1, 3, data);
        Request* send_next = world().isend(0, 1, 3, next);
        if (!posted) {
          world().settle();
          receive();
        }
        ASSERT_TRUE(world().wait_all(all, "a cut message") && world().wait_all({send, send_next}, "its send"));
        EXPECT_EQ(all[0]->status.error, Errc::truncate) << bytes << " bytes into " << room;
        EXPECT_EQ(all[0]->status.bytes, room);
        EXPECT_EQ(into.take(), message_bytes(id, room)) << bytes << " bytes into " << room;
        EXPECT_TRUE(into.guards_hold(room));
        world().free(1, all[0]);
        expect_message(1, all[1], into_next, id + 100000, 50, 0, 3);
        expect_sent(0, send);
        expect_sent(0, send_next);
      }
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, ARankSendsToItself) {
  ASSERT_TRUE(open(2));
  std::uint64_t id = 0;
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{70000}, std::size_t{1} << 20}) {
    for (SendMode mode : {SendMode::standard, SendMode::synchronous}) {
      for (bool posted : {true, false}) {
        const Buffer data = message(++id, bytes, Shape::strided);
        Buffer into(bytes, Shape::ragged, id);
        Request* recv = posted ? world().irecv(0, 0, 2, into) : nullptr;
        Request* send = world().isend(0, 0, 2, data, mode);
        if (!posted) {
          EXPECT_FALSE(mode == SendMode::synchronous && send->complete());
          recv = world().irecv(0, kAnySource, kAnyTag, into);
        }
        ASSERT_TRUE(world().wait_all({recv, send}, "a message to oneself"));
        expect_message(0, recv, into, id, bytes, 0, 2);
        expect_sent(0, send);
      }
    }
  }
  expect_clean();
}

TEST_P(Conformance, ASenderMayReuseItsMemoryOnceItsSendIsComplete) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : edge_sizes()) {
    if (bytes == 0) continue;
    Buffer data = message(bytes, bytes);
    Request* send = world().isend(0, 1, 0, data);
    Buffer into(bytes, Shape::contiguous);
    Request* recv = nullptr;
    ASSERT_TRUE(world().run_until(
        [&] {
          if (!send->complete() && !recv) recv = world().irecv(1, 0, 0, into);
          return send->complete();
        },
        "a send"));
    data.fill(std::vector<std::byte>(bytes, std::byte{0}));
    if (!recv) recv = world().irecv(1, 0, 0, into);
    ASSERT_TRUE(world().wait(recv, "a receive"));
    expect_message(1, recv, into, bytes, bytes, 0, 0);
    expect_sent(0, send);
  }
}

TEST_P(Conformance, ShortSendsWithoutARequestArriveInOrder) {
  ASSERT_TRUE(open(2));
  constexpr int kCount = 300;
  std::vector<Buffer> data;
  for (int i = 0; i < kCount; ++i) data.push_back(message(static_cast<std::uint64_t>(i), 16));
  std::vector<std::pair<int, Request*>> sends;
  for (int i = 0; i < kCount; ++i) {
    const auto& view = data[static_cast<std::size_t>(i)].view();
    if (rank(0).send_now(1, {1, 0, i}, view.base, 16)) continue;
    sends.emplace_back(i, world().isend(0, 1, i, data[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < kCount; ++i) {
    Buffer into(16, Shape::contiguous);
    Request* recv = world().irecv(1, 0, kAnyTag, into);
    ASSERT_TRUE(world().wait(recv, "a short message"));
    expect_message(1, recv, into, static_cast<std::uint64_t>(i), 16, 0, i);
  }
  for (auto& [i, send] : sends) {
    ASSERT_TRUE(world().wait(send, "a short send"));
    expect_sent(0, send);
  }
}

}  // namespace
}  // namespace rmq::testing
