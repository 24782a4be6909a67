// SPDX-License-Identifier: BSD-3-Clause
// A wait that should end has no limit here: if it does not end, the test's watchdog reports it.
#include "base/os/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/os/clock.hpp"

namespace rmq {
namespace {

std::string job_of(const char* test) {
  return std::string(test) + "-" + std::to_string(::getpid());
}

std::unique_ptr<Doorbell> open(const std::string& job, Rank rank) {
  auto bell = Doorbell::open(job, rank);
  EXPECT_TRUE(bell) << (bell ? "" : bell.error().what);
  return bell ? std::move(*bell) : nullptr;
}

// Whether the bell is silent: a wait of 0 ns takes in what has been rung, one of 2 ms then lasts that long.
bool sleeps_for_2ms(Doorbell& bell) {
  const std::uint64_t start = os::now_ns();
  bell.wait(2000000);
  return os::now_ns() - start >= 2000000;
}

TEST(Doorbell, WakesWhoeverSleepsWhenRungBefore) {
  const auto bell = open(job_of("self"), 0);
  bell->ring(0);
  bell->wait(-1);
}

TEST(Doorbell, WakesASleeperFromAnotherThread) {
  const std::string job = job_of("thread");
  const auto sleeper = open(job, 0);
  const auto ringer = open(job, 1);
  std::thread other([&] { ringer->ring(0); });
  sleeper->wait(-1);
  other.join();
}

TEST(Doorbell, WakesASleeperInAnotherProcess) {
  const std::string job = job_of("process");
  const auto parent = open(job, 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto bell = Doorbell::open(job, 1);
    if (!bell) ::_exit(1);
    (*bell)->ring(0);  // "I am here"
    (*bell)->wait(-1);
    ::_exit(0);
  }
  parent->wait(-1);
  parent->ring(1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Doorbell, ForgetsTheRingsThatAWaitHasTakenIn) {
  const auto bell = open(job_of("many"), 0);
  for (int i = 0; i < 10000; ++i) bell->ring(0);  // far more than a socket's queue holds: must not block
  bell->wait(-1);
  EXPECT_TRUE(sleeps_for_2ms(*bell)) << "all rings were taken in by one wait";
}

TEST(Doorbell, SleepsNoLongerThanItIsTold) {
  const auto bell = open(job_of("timeout"), 0);
  EXPECT_TRUE(sleeps_for_2ms(*bell));
  bell->wait(0);
}

TEST(Doorbell, IsHeardHoweverManyOthersHaveNotHeardTheirs) {
  const std::string job = job_of("crowd");
  constexpr Rank kCrowd = 100;  // with full queues they fill the ringer's own socket, which holds some 280 rings
  std::vector<std::unique_ptr<Doorbell>> crowd;
  for (Rank rank = 0; rank < kCrowd; ++rank) crowd.push_back(open(job, rank));
  const auto sleeper = open(job, kCrowd);
  const auto ringer = open(job, kCrowd + 1);
  for (Rank rank = 0; rank < kCrowd; ++rank) {
    for (int i = 0; i < 20; ++i) ringer->ring(rank);
  }
  ringer->ring(kCrowd);
  const std::uint64_t start = os::now_ns();
  sleeper->wait(60'000'000'000);
  EXPECT_LT(os::now_ns() - start, 50'000'000'000u) << "the ring was lost";
}

TEST(Doorbell, RingingARankThatIsGoneIsFine) {
  const std::string job = job_of("gone");
  const auto bell = open(job, 0);
  bell->ring(7);
  { const auto brief = open(job, 1); }
  bell->ring(1);
}

TEST(Doorbell, RingsOfOtherJobsAreNotHeard) {
  const auto mine = open(job_of("mine"), 0);
  const auto theirs = open(job_of("theirs"), 0);
  theirs->ring(0);
  EXPECT_TRUE(sleeps_for_2ms(*mine));
  theirs->wait(-1);
}

TEST(Doorbell, WakesWhenAWatchedDescriptorCanBeRead) {
  const auto bell = open(job_of("watch"), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(bell->watch(ends[0]));
  EXPECT_TRUE(sleeps_for_2ms(*bell));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  bell->wait(-1);
  bell->unwatch(ends[0]);
  EXPECT_TRUE(sleeps_for_2ms(*bell)) << "an unwatched descriptor wakes nobody";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Doorbell, WatchingAgainChangesWhatIsWanted) {
  const auto bell = open(job_of("again"), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(bell->watch(ends[1], false));
  ASSERT_TRUE(bell->watch(ends[1], true));
  bell->wait(-1);  // an empty pipe can be written
  bell->unwatch(ends[1]);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Doorbell, ANameThatIsTakenIsAnError) {
  const std::string job = job_of("twice");
  const auto first = open(job, 0);
  const auto second = Doorbell::open(job, 0);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("rank 0"), std::string::npos);
}

}  // namespace
}  // namespace rmq
