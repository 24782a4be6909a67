// SPDX-License-Identifier: BSD-3-Clause
// kill -9 leaves nothing behind, whomever it meets.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

// Ranks that no signal but SIGKILL reaches and that never look at their server; each prints one line when it is up.
const std::vector<std::vector<std::string>> stubborn_jobs = {
    {"-n", "4", "PROBE", "say", "up", "spin"},
    {"-n", "2", "sh", "-c", "trap '' TERM INT HUP; PROBE say up spin; sleep 1000"},
    {"-n", "2", "sh", "-c", "setsid sleep 1000 & (sleep 1000 &); PROBE say up fork hang"},
};

int ranks(const std::vector<std::string>& job) {
  return std::stoi(job[1]);
}

TEST(RmqrunKill, OfRmqrunItself) {
  for (const auto& arguments : stubborn_jobs) {
    Process job(rmqrun(arguments));
    job.await_lines(ranks(arguments));
    ::kill(job.pid(), SIGKILL);
    job.wait();
    job.await_nobody();
  }
}

TEST(RmqrunKill, OfItsKeeper) {
  for (const auto& arguments : stubborn_jobs) {
    Process job(rmqrun(arguments));
    job.await_lines(ranks(arguments));
    for (const pid_t pid : job.family("rmqkeeper")) ::kill(pid, SIGKILL);
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 128 + SIGKILL);
    job.await_nobody();
  }
}

// One that stands still, for whatever reason, does not keep the user from ending the job.
TEST(RmqrunKill, BySignalGoesPastAKeeperThatStandsStill) {
  int signal = SIGINT;
  for (const auto& arguments : stubborn_jobs) {
    Process job(rmqrun(arguments));
    job.await_lines(ranks(arguments));
    for (const pid_t pid : job.family("rmqkeeper")) ::kill(pid, SIGSTOP);
    ::kill(job.pid(), signal);
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 128 + signal);
    EXPECT_NE(outcome.err.find("stands still"), std::string::npos) << outcome.err;
    job.await_nobody();
    signal = SIGTERM;
  }
}

TEST(RmqrunKill, LeavesAloneWhatItsShellHadStartedBefore) {
  std::vector<std::string> command = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 & exec \"$@\"", "sh"};
  for (const std::string& word : rmqrun({"-n", "1", "PROBE", "say", "up", "spin"})) command.push_back(word);
  Process job(command);
  job.await_lines(1);
  const auto before = job.family("sleep");
  ASSERT_EQ(before.size(), 1u);
  for (const pid_t pid : job.family("rmqkeeper")) ::kill(pid, SIGSTOP);
  ::kill(job.pid(), SIGTERM);
  job.wait();
  EXPECT_EQ(job.family(), before);
}

TEST(RmqrunKill, OfBothAtOnceEndsTheRanksAndWhoeverWatchesTheServer) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"-n", "2", "PROBE", "say", "up", "spin"},
        std::vector<std::string>{"-n", "2", "sh", "-c", "PROBE say up watch"}}) {
    Process job(rmqrun(arguments));
    job.await_lines(2);
    ::kill(job.pid(), SIGSTOP);  // the front must not clean up after the keeper here
    for (const pid_t pid : job.family("rmqkeeper")) ::kill(pid, SIGKILL);
    ::kill(job.pid(), SIGKILL);
    job.wait();
    job.await_nobody();
  }
}

TEST(RmqrunKill, OfARankEndsWhatItHadStarted) {
  for (const auto& arguments : stubborn_jobs) {
    Process job(rmqrun(arguments));
    job.await_lines(ranks(arguments));
    const std::vector<pid_t> victims = job.family("rank_probe");
    ASSERT_FALSE(victims.empty());
    ::kill(victims.front(), SIGKILL);
    EXPECT_NE(job.wait().code, 0);
    job.await_nobody();
  }
}

TEST(RmqrunKill, ANormalEndLeavesNothingEither) {
  Process job(rmqrun({"-n", "2", "sh", "-c", "sleep 1000 & PROBE finalize"}));
  EXPECT_EQ(job.wait().code, 0);
  job.await_nobody();
}

}  // namespace
}  // namespace rmq::test
