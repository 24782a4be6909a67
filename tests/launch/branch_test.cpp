// SPDX-License-Identifier: BSD-3-Clause
// What an agent decides by itself of what its ranks say.
#include "tools/launch/branch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

namespace rmq::launch {
namespace {

using boot::FrameKind;

class AgentWithRanks : public ::testing::Test, private Branch::Upcalls {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 2; ++rank) {
      std::array<int, 2> ends{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
      branch_.add(rank, UniqueFd(ends[0]));
      ranks_.emplace_back(ends[1]);
    }
  }

  void say(int rank, const std::string& frame) {
    ASSERT_EQ(::send(ranks_[static_cast<std::size_t>(rank)].get(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
    branch_.drain(rank);
  }
  // What the rank has been sent; "" for nothing.
  std::string told(int rank) {
    boot::FrameReader reader;
    const ssize_t got = ::recv(ranks_[static_cast<std::size_t>(rank)].get(), reader.reserve(4096), 4096, MSG_DONTWAIT);
    if (got <= 0) return "";
    reader.commit(static_cast<std::size_t>(got));
    const auto frame = reader.next();
    if (!frame || !*frame) return "damage";
    return (*frame)->kind == FrameKind::refused ? std::string((*frame)->body) : "answer";
  }

  std::vector<Word> up_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  Branch branch_{*loop_, 2, *this};
  std::vector<UniqueFd> ranks_;

 private:
  void up(Word word, std::string_view) override { up_.push_back(word); }
  void down(std::size_t, Word, std::string_view) override {}
  void on_join(int, pid_t) override {}
};

TEST_F(AgentWithRanks, AFenceIsOfDifferentRanks) {
  for (const int rank : {0, 1}) say(rank, boot::encode_hello(rank));
  up_.clear();
  say(0, boot::encode(FrameKind::fence));
  EXPECT_EQ(told(0), "");
  say(0, boot::encode(FrameKind::fence));
  EXPECT_EQ(told(0), "two fences of one rank at once");
  EXPECT_EQ(up_, std::vector<Word>{});
  say(1, boot::encode(FrameKind::fence));
  EXPECT_EQ(up_, std::vector<Word>{Word::fence});
  branch_.fence_done(0);
  EXPECT_EQ(told(0), "answer");
  say(0, boot::encode(FrameKind::fence));  // the next one
  EXPECT_EQ(told(0), "");
}

TEST_F(AgentWithRanks, CallsOutsideOfMpiAreRefused) {
  const std::string why = "a start-up call outside of MPI_Init … MPI_Finalize";
  for (const std::string& call : {boot::encode(FrameKind::fence), boot::encode(FrameKind::get, "key")}) {
    say(0, call);
    EXPECT_EQ(told(0), why);
  }
  EXPECT_EQ(up_, std::vector<Word>{});
  say(1, boot::encode_hello(1));
  say(1, boot::encode(FrameKind::finalize));
  say(1, boot::encode_hello(1));  // which the launcher refuses
  say(1, boot::encode(FrameKind::fence));
  EXPECT_EQ(told(1), why);
}

}  // namespace
}  // namespace rmq::launch
