// SPDX-License-Identifier: BSD-3-Clause
// The event loop of a launcher: nobody keeps it from the others.
#include "tools/process/loop.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "tools/process/acceptor.hpp"

namespace rmq::launch {
namespace {

TEST(Loop, TimerThatSetsItselfAgainWithoutDelayLetsDescriptorsHaveTheirTurn) {
  auto loop = std::move(*EventLoop::create());
  auto pipe = std::move(*Pipe::create());
  const std::function<void()> again = [&] { loop->after(std::chrono::milliseconds(0), again); };
  again();
  loop->watch(pipe.reader.get(), EPOLLIN, [&](std::uint32_t) { loop->stop(); });
  ASSERT_TRUE(write_all(pipe.writer.get(), "x"));
  loop->run();
}

TEST(Loop, CrowdOfCallersLeavesOthersTheirTurns) {
  auto loop = std::move(*EventLoop::create());
  const std::string name = "rmq-loop-test/" + std::to_string(::getpid());
  constexpr int kCrowd = 100;
  auto socket = listen_at(name, kCrowd);
  ASSERT_TRUE(socket.has_value()) << socket.error().what;
  std::vector<UniqueFd> crowd(kCrowd), inside;
  for (UniqueFd& one : crowd) ASSERT_EQ(call(name, false, one), Reached::yes);
  const Acceptor acceptor(*loop, std::move(*socket), [&](UniqueFd caller) {
    inside.push_back(std::move(caller));
    if (inside.size() == kCrowd) loop->stop();
  });
  int turns = 0;
  const std::function<void()> turn = [&] {
    ++turns;
    loop->after(std::chrono::milliseconds(0), turn);
  };
  turn();
  loop->run();
  EXPECT_GE(turns, 5);
}

}  // namespace
}  // namespace rmq::launch
