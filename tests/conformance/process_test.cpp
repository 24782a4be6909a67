// SPDX-License-Identifier: BSD-3-Clause
// Scenarios that need real processes: waiting that sleeps, single copy between address spaces, sudden death.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/os/clock.hpp"
#include "conformance/ranks.hpp"

namespace rmq::testing {
namespace {

class Processes : public ::testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    if (!GetParam().available()) GTEST_SKIP() << "this build has no " << GetParam().method;
  }
  /// Ranks that sleep at once and for ever: a wake-up that is lost hangs.
  static rmq::testing::Setup sleepy(const std::function<void(Config&)>& adjust = {}) {
    auto s = GetParam();
    s.sleep_for_ever = true;
    s.adjust = [before = s.adjust, adjust](Config& c) {
      if (before) before(c);
      c.wait = "sleep";
      if (adjust) adjust(c);
    };
    return s;
  }
};

std::vector<Setup> real_setups() {
  std::vector<Setup> setups;
  for (const Setup& s : all_setups()) {
    if (!s.inproc) setups.push_back(s);
  }
  return setups;
}

Buffer message(std::uint64_t id, std::size_t bytes, Shape shape = Shape::contiguous) {
  Buffer b(bytes, shape, id);
  b.fill(message_bytes(id, bytes));
  return b;
}

TEST_P(Processes, ARingPassesMessagesOfEverySize) {
  const RankExits exits = run_ranks(4, sleepy(), [](adi::Device& d) {
    const int to = (d.rank() + 1) % d.size(), from = (d.rank() + d.size() - 1) % d.size();
    for (std::size_t bytes : {0, 1, 32, 33, 1000, 20000, 70000, 1000000, 5000000}) {
      const Buffer data = message(bytes + 1, bytes, Shape::ragged);
      Buffer into(bytes, Shape::strided);
      if (d.rank() == 0) {
        EXPECT_EQ(send(d, to, 1, data), Errc::ok);
      }
      EXPECT_EQ(receive(d, from, 1, into), Errc::ok);
      EXPECT_EQ(into.take(), message_bytes(bytes + 1, bytes));
      if (d.rank() != 0) {
        EXPECT_EQ(send(d, to, 1, into), Errc::ok);
      }
    }
  });
  EXPECT_TRUE(exits.all_well());
}

TEST_P(Processes, ARankThatSleepsIsWokenByAMessage) {
  const RankExits exits = run_ranks(2, sleepy(), [](adi::Device& d) {
    const Buffer ping = message(1, 16);
    Buffer into(16, Shape::contiguous);
    for (int round = 0; round < 5; ++round) {
      if (d.rank() == 0) {
        // Long enough that the other rank has gone to sleep; correct whether it has or not.
        ::usleep(20000);
        EXPECT_EQ(send(d, 1, round, ping), Errc::ok);
        EXPECT_EQ(receive(d, 1, round, into), Errc::ok);
      } else {
        EXPECT_EQ(receive(d, 0, round, into), Errc::ok);
        EXPECT_EQ(send(d, 0, round, ping), Errc::ok);
      }
    }
  });
  EXPECT_TRUE(exits.all_well());
}

// Ten looks a second would keep a CPU busy where a thousand ranks wait.
TEST_P(Processes, ARankThatHasNothingToDoLooksLessAndLess) {
  const RankExits exits = run_ranks(2, GetParam(), [](adi::Device& d) {
    const Buffer ping = message(1, 16);
    Buffer into(16, Shape::contiguous);
    if (d.rank() == 0) {
      ::usleep(1'500'000);
      EXPECT_EQ(send(d, 1, 1, ping), Errc::ok);
    } else {
      const std::uint64_t start = os::now_ns();
      EXPECT_EQ(receive(d, 0, 1, into), Errc::ok);
      const std::uint64_t seconds = (os::now_ns() - start) / 1'000'000'000;  // more where others compute too
      EXPECT_LE(d.counters().sleeps, 8 + seconds);
    }
  });
  EXPECT_TRUE(exits.all_well());
}

// Many messages to a rank that comes late; meanwhile their sender sleeps, and all of them arrive.
void flood_a_late_rank(const Setup& setup, int count, std::size_t bytes) {
  const RankExits exits = run_ranks(2, setup, [=](adi::Device& d) {
    const Buffer data = message(1, bytes), hello = message(2, 0);
    Buffer into(bytes, Shape::contiguous);
    if (d.rank() == 1) {
      EXPECT_EQ(receive(d, 0, 0, into), Errc::ok);
      EXPECT_EQ(send(d, 0, 0, hello), Errc::ok);
      ::usleep(100000);
      for (int i = 0; i < count; ++i) EXPECT_EQ(receive(d, 0, 1, into), Errc::ok);
      return;
    }
    EXPECT_EQ(send(d, 1, 0, hello), Errc::ok);
    EXPECT_EQ(receive(d, 1, 0, into), Errc::ok);
    std::vector<Request*> sends;
    for (int i = 0; i < count; ++i) {
      sends.push_back(d.MPID_Request_create(RequestKind::send));
      sends.back()->peer = 1;
      sends.back()->match = {1, 0, 1};
      sends.back()->view = data.view();
      d.MPID_Isend(sends.back());
    }
    EXPECT_GT(d.levels().messages, 0u) << "nothing is held up";
    const std::uint64_t before = d.counters().sleeps;
    while (d.levels().messages > 0) d.MPID_Poll(true);
    EXPECT_GT(d.counters().sleeps, before);
    for (Request* r : sends) d.MPID_Wait(r);
  });
  EXPECT_TRUE(exits.all_well());
}

TEST_P(Processes, ASenderWithoutCreditSleeps) {
  flood_a_late_rank(sleepy([](Config& c) { c.unexpected_max = 1; }), 400, 1000);
}

TEST_P(Processes, ASenderWhoseLinkIsFullSleeps) {
  const auto narrow = [](Config& c) {
    c.shm_cells = 4096;
    c.shm_ring = 64 * 1024;
    c.tcp_buffer = 16 * 1024;
  };
  flood_a_late_rank(sleepy(narrow), 2000, 4000);
}

TEST_P(Processes, ADeathIsReportedWithTheRankThatDied) {
  const RankExits exits = run_ranks(3, GetParam(), [](adi::Device& d) {
    Buffer into(100, Shape::contiguous);
    const Buffer hello = message(1, 100);
    if (d.rank() == 1) {
      EXPECT_EQ(send(d, 0, 1, hello), Errc::ok);
      EXPECT_EQ(receive(d, 0, 2, into), Errc::ok);
      ::kill(::getpid(), SIGKILL);
    }
    if (d.rank() == 0) {
      EXPECT_EQ(receive(d, 2, 6, into), Errc::ok);  // rank 2 has started: from now on rank 0 may end before it
      EXPECT_EQ(receive(d, 1, 1, into), Errc::ok);
      EXPECT_EQ(send(d, 1, 2, hello), Errc::ok);
      EXPECT_EQ(receive(d, 1, 3, into), Errc::peer_lost);
      EXPECT_NE(d.peer_error(1).find("rank 1"), std::string::npos) << d.peer_error(1);
      EXPECT_EQ(send(d, 1, 4, hello), Errc::peer_lost);
      EXPECT_EQ(send(d, 2, 5, hello), Errc::ok);
    }
    if (d.rank() == 2) {
      EXPECT_EQ(send(d, 0, 6, hello), Errc::ok);
      EXPECT_EQ(receive(d, 0, 5, into), Errc::ok);
    }
  });
  EXPECT_EQ(exits.code[0], 0);
  EXPECT_EQ(exits.code[1], -SIGKILL);
  EXPECT_EQ(exits.code[2], 0);
}

TEST_P(Processes, AnyToAnyTrafficOfEightRanksFinishes) {
  const RankExits exits = run_ranks(8, sleepy(), [](adi::Device& d) {
    const int n = d.size();
    std::vector<Buffer> data, into;
    std::vector<Request*> requests;
    for (int r = 0; r < n; ++r) {
      const std::size_t bytes = static_cast<std::size_t>(d.rank() + 1) * 9001;
      data.push_back(message(static_cast<std::uint64_t>(d.rank() * n + r), bytes));
      into.emplace_back(static_cast<std::size_t>(r + 1) * 9001, Shape::contiguous);
    }
    for (int r = 0; r < n; ++r) {
      Request* recv = d.MPID_Request_create(RequestKind::recv);
      recv->peer = r;
      recv->match = {1, r, 0};
      recv->view = into[static_cast<std::size_t>(r)].view();
      d.MPID_Irecv(recv);
      requests.push_back(recv);
    }
    for (int r = 0; r < n; ++r) {
      Request* s = d.MPID_Request_create(RequestKind::send);
      s->peer = r;
      s->match = {1, d.rank(), 0};
      s->view = data[static_cast<std::size_t>(r)].view();
      d.MPID_Isend(s);
      requests.push_back(s);
    }
    for (Request* r : requests) d.MPID_Wait(r);
    for (int r = 0; r < n; ++r) {
      const auto id = static_cast<std::uint64_t>(r * n + d.rank());
      EXPECT_EQ(into[static_cast<std::size_t>(r)].take(), message_bytes(id, static_cast<std::size_t>(r + 1) * 9001));
    }
  });
  EXPECT_TRUE(exits.all_well());
}

INSTANTIATE_TEST_SUITE_P(Over, Processes, ::testing::ValuesIn(real_setups()),
                         [](const auto& setup) { return setup.param.name; });

}  // namespace
}  // namespace rmq::testing
