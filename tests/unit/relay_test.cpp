// SPDX-License-Identifier: BSD-3-Clause
// The relay of a party, over a method that does nothing: when it tells of what the lifeline has brought.
#include "adi/relay.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/os/doorbell.hpp"

namespace rmq::adi {
namespace {

class Idle final : public methods::Method {
 public:
  methods::MethodId id() const override { return methods::MethodId::inproc; }
  bool reaches(Rank) const override { return true; }
  int reached() const override { return 1; }
  std::size_t eager_max(Rank) const override { return 100; }
  std::size_t fragment_max(Rank) const override { return 100; }
  methods::Outcome send(Rank, const Packet&, const Payload&, Request*) override { return methods::Outcome::done; }
  int poll() override { return 0; }
  void drop(Rank, const Error&) override {}
  bool drained() const override { return true; }
  void close() override {}
};

int told = 0;

// What ends a sleep is told by the poll behind it: whoever is about to sleep takes no upcalls.
TEST(Relay, TellsOfTheOtherRootsEndInAPollAndNotWhileItArms) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  Lifeline lifeline;
  lifeline.tie(Line::join(ends[0]), {7});
  const PartyFacts facts;
  const PartyNumbers numbers;
  const methods::Sink up{};
  const auto bell = Doorbell::silent();
  told = 0;
  Relay relay({facts, numbers, up, *bell, lifeline,
               [](std::span<const std::uint64_t> jobs, int, bool) { told += jobs[0] == 7; }, false});
  relay.set_inner(std::make_unique<Idle>());
  EXPECT_TRUE(relay.arm());
  ::close(ends[1]);
  EXPECT_FALSE(relay.arm());
  EXPECT_EQ(told, 0);
  relay.poll();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(relay.arm());
}

}  // namespace
}  // namespace rmq::adi
