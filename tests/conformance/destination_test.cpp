// SPDX-License-Identifier: BSD-3-Clause
// The destination operations: cat appends in arrival order, join combines.
#include <cstring>

#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

// Messages of `count` doubles from ranks 1 … n to rank 0, received by one request.
class Parts {
 public:
  Parts(World& world, std::size_t count, Shape shape) : count_(count) {
    for (int r = 1; r < world.size(); ++r) {
      std::vector<std::byte> bytes(count * sizeof(double));
      for (std::size_t i = 0; i < count; ++i) {
        const double v = r * 1000.0 + static_cast<double>(i);
        std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v);
      }
      data_.emplace_back(bytes.size(), shape, static_cast<std::uint64_t>(r));
      data_.back().fill(bytes);
    }
  }
  std::vector<Request*> send(World& world) {
    std::vector<Request*> sends;
    for (int r = 1; r < world.size(); ++r)
      sends.push_back(world.isend(r, 0, 1, data_[static_cast<std::size_t>(r - 1)]));
    return sends;
  }
  std::size_t bytes() const { return count_ * sizeof(double); }
  const Buffer& of(int rank) const { return data_[static_cast<std::size_t>(rank - 1)]; }

 private:
  std::size_t count_;
  std::vector<Buffer> data_;
};

TEST_P(Conformance, CatAppendsWholeMessagesInTheOrderOfTheirArrival) {
  constexpr int kRanks = 4;
  ASSERT_TRUE(open(kRanks));
  for (std::size_t count : {std::size_t{1}, std::size_t{40}, eager_max() / 8 + 1, std::size_t{30000}}) {
    for (bool posted : {true, false}) {
      Parts parts(world(), count, posted ? Shape::contiguous : Shape::ragged);
      Buffer into(parts.bytes() * (kRanks - 1), Shape::contiguous);
      Request* recv = world().make_recv(0, kAnySource, 1, into);
      recv->dest_op = DestOp::cat;
      recv->parts = kRanks - 1;
      if (posted) rank(0).MPID_Irecv(recv);
      std::vector<Request*> sends = parts.send(world());
      if (!posted) {
        world().settle();
        rank(0).MPID_Irecv(recv);
      }
      ASSERT_TRUE(world().wait(recv, "a cat") && world().wait_all(sends, "its sends"));
      EXPECT_EQ(recv->status.error, Errc::ok);
      EXPECT_EQ(recv->status.bytes, into.bytes());
      const std::vector<std::byte> all = into.take();
      std::vector<bool> seen(kRanks);
      for (int slot = 0; slot < kRanks - 1; ++slot) {
        double first = 0;
        std::memcpy(&first, all.data() + static_cast<std::size_t>(slot) * parts.bytes(), sizeof first);
        const int from = static_cast<int>(first / 1000);
        ASSERT_TRUE(from >= 1 && from < kRanks && !seen[static_cast<std::size_t>(from)]) << count;
        seen[static_cast<std::size_t>(from)] = true;
        const auto begin = all.begin() + slot * static_cast<std::ptrdiff_t>(parts.bytes());
        EXPECT_TRUE(
            std::equal(begin, begin + static_cast<std::ptrdiff_t>(parts.bytes()), parts.of(from).take().begin()));
      }
      world().free(0, recv);
      for (int r = 1; r < kRanks; ++r) expect_sent(r, sends[static_cast<std::size_t>(r - 1)]);
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, JoinCombinesEveryMessageWithWhatIsThere) {
  constexpr int kRanks = 4;
  ASSERT_TRUE(open(kRanks));
  for (std::size_t count : {std::size_t{1}, std::size_t{3}, eager_max() / 8 + 1, std::size_t{20000}}) {
    for (bool posted : {true, false}) {
      Parts parts(world(), count, Shape::contiguous);
      std::vector<double> into(count);
      for (std::size_t i = 0; i < count; ++i) into[i] = 0.5;
      Request* recv = rank(0).MPID_Request_create(RequestKind::recv);
      recv->match = world().pattern(kAnySource, 1);
      recv->view = DataView::contiguous(into.data(), parts.bytes());
      recv->dest_op = DestOp::join;
      recv->join_op = ReduceOp::sum;
      recv->join_type = Basic::f64;
      recv->parts = kRanks - 1;
      if (posted) rank(0).MPID_Irecv(recv);
      std::vector<Request*> sends = parts.send(world());
      if (!posted) {
        world().settle();
        rank(0).MPID_Irecv(recv);
      }
      ASSERT_TRUE(world().wait(recv, "a join") && world().wait_all(sends, "its sends"));
      EXPECT_EQ(recv->status.error, Errc::ok);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(into[i], 0.5 + 6000.0 + 3.0 * static_cast<double>(i)) << "element " << i << " of " << count;
      }
      world().free(0, recv);
      for (int r = 1; r < kRanks; ++r) expect_sent(r, sends[static_cast<std::size_t>(r - 1)]);
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, JoinTellsTheLengthOfTheShortestMessage) {
  ASSERT_TRUE(open(3));
  for (const int shorter : {1, 2}) {
    std::vector<double> into(4, 0.5), out(4, 2.0);
    Request* recv = rank(0).MPID_Request_create(RequestKind::recv);
    recv->match = world().pattern(kAnySource, 1);
    recv->view = DataView::contiguous(into.data(), 32);
    recv->dest_op = DestOp::join;
    recv->join_op = ReduceOp::sum;
    recv->join_type = Basic::f64;
    recv->parts = 2;
    rank(0).MPID_Irecv(recv);
    for (int r : {1, 2}) {
      Request* send = rank(r).MPID_Request_create(RequestKind::send);
      send->peer = 0;
      send->match = world().pattern(r, 1);
      send->view = DataView::contiguous(out.data(), r == shorter ? 16u : 32u);
      rank(r).MPID_Isend(send);
      ASSERT_TRUE(world().wait(send, "a send"));
      world().settle();
      world().free(r, send);
    }
    ASSERT_TRUE(world().wait(recv, "a join"));
    EXPECT_EQ(recv->status.bytes, 16u);
    EXPECT_EQ(into, (std::vector<double>{4.5, 4.5, 2.5, 2.5}));
    world().free(0, recv);
  }
  world().settle();
  expect_clean();
}

}  // namespace
}  // namespace rmq::testing
