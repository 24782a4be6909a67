// SPDX-License-Identifier: BSD-3-Clause
// Which receive gets which message, and what a probe tells.
#include <map>

#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

// A mix that goes by every protocol in turn.
std::size_t mixed_size(int i, std::size_t eager) {
  const std::size_t sizes[] = {8, 3 * eager + 11, 100, eager, eager + 1, 16, 200000, 40};
  return sizes[i % 8];
}

TEST_P(Conformance, MessagesOfOneSenderDoNotOvertakeEachOther) {
  ASSERT_TRUE(open(2));
  constexpr int kCount = 200;
  for (bool posted : {true, false}) {
    std::vector<Buffer> data, into;
    std::vector<Request*> sends, recvs;
    for (int i = 0; i < kCount; ++i) {
      const std::size_t bytes = mixed_size(i, eager_max());
      data.push_back(message(static_cast<std::uint64_t>(i + 1), bytes));
      into.emplace_back(bytes, Shape::contiguous);
    }
    const auto receive_all = [&] {
      for (int i = 0; i < kCount; ++i) {
        recvs.push_back(
            world().irecv(1, i % 3 == 0 ? kAnySource : 0, i % 5 == 0 ? kAnyTag : 4, into[static_cast<std::size_t>(i)]));
      }
    };
    if (posted) receive_all();
    for (const Buffer& b : data) sends.push_back(world().isend(0, 1, 4, b));
    if (!posted) {
      world().settle();
      receive_all();
    }
    ASSERT_TRUE(world().wait_all(recvs, "the receives") && world().wait_all(sends, "the sends"));
    for (int i = 0; i < kCount; ++i) {
      const auto k = static_cast<std::size_t>(i);
      expect_message(1, recvs[k], into[k], k + 1, data[k].bytes(), 0, 4);
      expect_sent(0, sends[k]);
    }
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, TheOldestReceiveThatFitsIsServed) {
  ASSERT_TRUE(open(2));
  Buffer a(8, Shape::contiguous), b(8, Shape::contiguous), c(8, Shape::contiguous), d(8, Shape::contiguous);
  Request* any = world().irecv(1, kAnySource, kAnyTag, a);
  Request* exact = world().irecv(1, 0, 5, b);
  Request* any_tag = world().irecv(1, 0, kAnyTag, c);
  Request* any_source = world().irecv(1, kAnySource, 5, d);
  std::vector<Buffer> data;
  std::vector<Request*> sends;
  for (std::uint64_t i = 1; i <= 4; ++i) data.push_back(message(i, 8));
  for (const Buffer& m : data) sends.push_back(world().isend(0, 1, 5, m));
  ASSERT_TRUE(world().wait_all({any, exact, any_tag, any_source}, "four receives"));
  expect_message(1, any, a, 1, 8, 0, 5);
  expect_message(1, exact, b, 2, 8, 0, 5);
  expect_message(1, any_tag, c, 3, 8, 0, 5);
  expect_message(1, any_source, d, 4, 8, 0, 5);
  ASSERT_TRUE(world().wait_all(sends, "four sends"));
  for (Request* s : sends) expect_sent(0, s);
}

TEST_P(Conformance, ContextsAndTagsKeepMessagesApart) {
  ASSERT_TRUE(open(2));
  const Buffer one = message(1, 40), two = message(2, 40), three = message(3, 40);
  Request* sends[] = {world().make_send(0, 1, 1, one), world().make_send(0, 1, 1, two),
                      world().make_send(0, 1, 2, three)};
  sends[0]->match.context = 8;
  sends[1]->match.context = 9;
  sends[2]->match.context = 9;
  for (Request* s : sends) rank(0).MPID_Isend(s);
  Buffer into(40, Shape::contiguous);
  const struct {
    std::uint32_t context;
    int tag;
    std::uint64_t id;
  } order[] = {{9, 2, 3}, {9, 1, 2}, {8, 1, 1}};
  for (const auto& o : order) {
    Request* r = world().make_recv(1, kAnySource, o.tag, into);
    r->match.context = o.context;
    rank(1).MPID_Irecv(r);
    ASSERT_TRUE(world().wait(r, "a receive in one context"));
    expect_message(1, r, into, o.id, 40, 0, o.tag);
  }
  for (Request* s : sends) {
    ASSERT_TRUE(world().wait(s, "a send"));
    expect_sent(0, s);
  }
}

TEST_P(Conformance, AnySourceTakesFromEverySenderAndLosesNothing) {
  constexpr int kSenders = 4, kEach = 60;
  ASSERT_TRUE(open(kSenders + 1));
  std::map<int, std::vector<Buffer>> data;
  std::vector<std::pair<int, Request*>> sends;
  for (int s = 1; s <= kSenders; ++s) {
    for (int i = 0; i < kEach; ++i) {
      data[s].push_back(message(static_cast<std::uint64_t>(s * 1000 + i), mixed_size(i, eager_max())));
    }
    for (const Buffer& b : data[s]) sends.emplace_back(s, world().isend(s, 0, s, b));
  }
  std::map<int, std::size_t> next;
  for (int i = 0; i < kSenders * kEach; ++i) {
    Buffer into(300000, Shape::contiguous);
    Request* r = world().irecv(0, kAnySource, kAnyTag, into);
    ASSERT_TRUE(world().wait(r, "a wildcard receive"));
    const int s = r->status.source;
    ASSERT_TRUE(s >= 1 && s <= kSenders);
    const std::size_t k = next[s]++;
    ASSERT_LT(k, data[s].size());
    expect_message(0, r, into, static_cast<std::uint64_t>(s) * 1000 + k, data[s][k].bytes(), s, s);
  }
  for (auto& [s, r] : sends) {
    ASSERT_TRUE(world().wait(r, "a send"));
    expect_sent(s, r);
  }
  expect_clean();
}

TEST_P(Conformance, AProbeTellsOfTheMessageThatTheNextReceiveGets) {
  ASSERT_TRUE(open(3));
  adi::Envelope e;
  EXPECT_FALSE(rank(1).MPID_Iprobe(world().pattern(kAnySource, kAnyTag), e));
  for (std::size_t bytes : {std::size_t{0}, std::size_t{33}, eager_max() + 1, std::size_t{500000}}) {
    const Buffer data = message(bytes + 1, bytes), other = message(5, 12);
    Request* send = world().isend(0, 1, 6, data);
    Request* second = world().isend(0, 1, 6, other);
    ASSERT_TRUE(
        world().run_until([&] { return rank(1).MPID_Iprobe(world().pattern(kAnySource, kAnyTag), e); }, "a probe"));
    EXPECT_EQ(e.source, 0);
    EXPECT_EQ(e.tag, 6);
    EXPECT_EQ(e.bytes, bytes);
    EXPECT_FALSE(rank(1).MPID_Iprobe(world().pattern(2, kAnyTag), e)) << "nothing came from rank 2";
    Buffer into(bytes, Shape::contiguous), into_other(12, Shape::contiguous);
    Request* r = world().irecv(1, 0, 6, into);
    Request* r2 = world().irecv(1, 0, 6, into_other);
    ASSERT_TRUE(world().wait_all({r, r2, send, second}, "the probed message"));
    expect_message(1, r, into, bytes + 1, bytes, 0, 6);
    expect_message(1, r2, into_other, 5, 12, 0, 6);
    expect_sent(0, send);
    expect_sent(0, second);
  }
}

TEST_P(Conformance, AMatchedProbeTakesItsMessageOutOfOthersReach) {
  ASSERT_TRUE(open(2));
  for (std::size_t bytes : {std::size_t{0}, std::size_t{64}, eager_max() + 1, std::size_t{300000}}) {
    const Buffer first = message(1, bytes), second = message(2, bytes);
    Request* s1 = world().isend(0, 1, 9, first, SendMode::synchronous);
    Request* s2 = world().isend(0, 1, 9, second, SendMode::synchronous);
    adi::Envelope e;
    Request* taken = nullptr;
    ASSERT_TRUE(
        world().run_until([&] { return (taken = rank(1).MPID_Improbe(world().pattern(kAnySource, 9), e)) != nullptr; },
                          "a matched probe"));
    EXPECT_EQ(e.bytes, bytes);
    EXPECT_EQ(e.source, 0);
    Buffer into1(bytes, Shape::ragged), into2(bytes, Shape::contiguous);
    Request* r2 = world().irecv(1, kAnySource, kAnyTag, into2);
    ASSERT_TRUE(world().wait(r2, "the receive after a matched probe"));
    expect_message(1, r2, into2, 2, bytes, 0, 9);
    Request* r1 = world().make_recv(1, 0, 9, into1);
    rank(1).MPID_Imrecv(r1, taken);
    ASSERT_TRUE(world().wait_all({r1, s1, s2}, "the matched message"));
    expect_message(1, r1, into1, 1, bytes, 0, 9);
    expect_sent(0, s1);
    expect_sent(0, s2);
  }
  world().settle();
  expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Over, Conformance, ::testing::ValuesIn(all_setups()),
                         [](const auto& setup) { return setup.param.name; });

}  // namespace
}  // namespace rmq::testing
