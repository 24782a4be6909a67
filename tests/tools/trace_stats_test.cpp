// SPDX-License-Identifier: BSD-3-Clause
// Figures of traces whose figures are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tools/trace/stats.hpp"

namespace rmq::trace {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class TraceWaits : public ::testing::Test {
 protected:
  Entry entry(std::int64_t ns, int rank, Event e, int peer = -1, std::uint64_t a0 = 0) {
    Entry x;
    x.ns = ns;
    x.rank = rank;
    x.record.event = e;
    x.record.peer = peer;
    x.record.a0 = a0;
    return x;
  }
  void call(std::int64_t ns, int rank, const char* name) {
    waits_.add(entry(ns, rank, Event::call_enter, -1, call_id(name)));
  }
  void leave(std::int64_t ns, int rank, const char* name) {
    waits_.add(entry(ns, rank, Event::call_leave, -1, call_id(name)));
  }
  void packet(std::int64_t ns, int rank, Event e, int peer, Kind kind, std::int64_t sent_ns = 0) {
    Entry x = entry(ns, rank, e, peer);
    Packet p(kind);
    p.msg = 5;
    std::memcpy(x.record.packet, &p, sizeof p);
    x.flow = 1;
    x.sent_ns = sent_ns;
    waits_.add(x);
  }
  // Rank 1 sends rank 0 a message at `sent`, which is matched as it comes.
  void message(std::int64_t sent) {
    packet(sent, 1, Event::packet_sent, 0, Kind::SHORT);
    packet(sent + 1000, 0, Event::packet_received, 1, Kind::SHORT, sent);
    packet(sent + 1000, 0, Event::matched, 1, Kind::SHORT);
  }
  bool says(const std::string& line) { return waits_.text().find(line) != std::string::npos; }
  Waits waits_;
};

TEST_F(TraceWaits, ALateSenderIsWaitedForFromTheReceivesCallOn) {
  call(1 * kMs, 0, "MPI_Recv");
  message(4 * kMs);
  leave(5 * kMs, 0, "MPI_Recv");
  EXPECT_TRUE(says("rank 0 for rank 1                0.003000      0.000000       0.000000")) << waits_.text();
  EXPECT_TRUE(says("MPI_Recv                                1     0.004000       4000.000")) << waits_.text();
}

TEST_F(TraceWaits, CallsOfSeveralThreadsOverlapAndCountEach) {
  const auto on_thread = [&](std::int64_t ns, Event e, const char* name, std::uint64_t thread) {
    Entry x = entry(ns, 0, e, -1, call_id(name));
    x.record.a1 = thread;
    waits_.add(x);
  };
  on_thread(1 * kMs, Event::call_enter, "MPI_Recv", 0);
  on_thread(2 * kMs, Event::call_enter, "MPI_Send", 1);
  on_thread(3 * kMs, Event::call_leave, "MPI_Recv", 0);
  on_thread(6 * kMs, Event::call_leave, "MPI_Send", 1);
  EXPECT_TRUE(says("MPI_Recv                                1     0.002000       2000.000")) << waits_.text();
  EXPECT_TRUE(says("MPI_Send                                1     0.004000       4000.000")) << waits_.text();
}

TEST_F(TraceWaits, NobodyWaitsForAnEarlyMessage) {
  packet(1 * kMs, 1, Event::packet_sent, 0, Kind::SHORT);
  packet(2 * kMs, 0, Event::packet_received, 1, Kind::SHORT, 1 * kMs);
  packet(2 * kMs, 0, Event::unexpected, 1, Kind::SHORT);
  call(3 * kMs, 0, "MPI_Recv");
  packet(3 * kMs, 0, Event::matched, 1, Kind::SHORT);
  leave(4 * kMs, 0, "MPI_Recv");
  EXPECT_FALSE(says("for rank")) << waits_.text();
}

TEST_F(TraceWaits, NoTimeIsCountedTwice) {
  call(0, 0, "MPI_Waitall");
  message(2 * kMs);
  message(3 * kMs);
  EXPECT_TRUE(says("rank 0 for rank 1                0.003000 ")) << waits_.text();
}

TEST_F(TraceWaits, ALateReceiverIsWaitedForUntilItHasAReceive) {
  call(1 * kMs, 1, "MPI_Send");
  packet(2 * kMs, 1, Event::packet_sent, 0, Kind::REQUEST_SEND);
  packet(3 * kMs, 0, Event::packet_received, 1, Kind::REQUEST_SEND, 2 * kMs);
  packet(3 * kMs, 0, Event::unexpected, 1, Kind::REQUEST_SEND);
  call(9 * kMs, 0, "MPI_Recv");
  packet(9 * kMs, 0, Event::matched, 1, Kind::REQUEST_SEND);
  packet(10 * kMs, 1, Event::packet_received, 0, Kind::RNDV_DONE, 9 * kMs);
  EXPECT_TRUE(says("rank 1 for rank 0                0.000000      0.007000       0.000000")) << waits_.text();
}

TEST_F(TraceWaits, InACollectiveItIsTheCollective) {
  call(1 * kMs, 0, "MPI_Allreduce");
  message(4 * kMs);
  EXPECT_TRUE(says("rank 0 for rank 1                0.000000      0.000000       0.003000")) << waits_.text();
}

TEST_F(TraceWaits, AtABoardAllWaitForTheLast) {
  constexpr std::uint64_t context = 6;
  for (const int rank : {0, 2, 1}) {
    call((1 + rank) * kMs, rank, "MPI_Barrier");
    waits_.add(entry(rank == 1 ? 7 * kMs : (2 + rank) * kMs, rank, Event::meet, 0, context));
  }
  // Two ranks that nobody here waits for meet under the same number, at another's board.
  waits_.add(entry(9 * kMs, 3, Event::meet, 3, context));
  for (const int rank : {1, 0, 2}) waits_.add(entry(10 * kMs, rank, Event::met, 0, context));
  EXPECT_TRUE(says("rank 0 for rank 1                0.000000      0.000000       0.006000")) << waits_.text();
  EXPECT_TRUE(says("rank 2 for rank 1                0.000000      0.000000       0.004000")) << waits_.text();
  EXPECT_FALSE(says("rank 1 for")) << waits_.text();
}

TEST(TraceTimes, AMedianIsRightToTwoPercent) {
  std::mt19937_64 random(1);
  for (const std::uint64_t most : {40u, 1000u, 100'000u, 2'000'000'000u}) {
    Times times;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 2001; ++i) {
      all.push_back(static_cast<std::int64_t>(random() % most));
      times.add(all.back());
    }
    std::nth_element(all.begin(), all.begin() + 1000, all.end());
    const double right = static_cast<double>(all[1000]) / 1000;
    EXPECT_NEAR(times.median_us(), right, right * 0.02 + 0.001) << most;
  }
}

}  // namespace
}  // namespace rmq::trace
