// The event loop of a launcher: nobody keeps it from the others.
#include "tools/process/loop.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>

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

}  // namespace
}  // namespace rmq::launch
