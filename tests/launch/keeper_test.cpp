// SPDX-License-Identifier: BSD-3-Clause
// Several jobs under one launcher: each has its own ranks, fence and values; what is connected ends together.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

Words several(Words words) {
  for (std::string& word : words)
    for (std::size_t at = 0; (at = word.find("PROBE", at)) != std::string::npos;) word.replace(at, 5, probe_path());
  words.insert(words.begin(), SEVERAL_JOBS);
  return words;
}

TEST(Keeper, JobsHaveValuesAndFencesOfTheirOwn) {
  const Outcome all = run(
      several({"-n", "3",  "PROBE", "put",   "k%r", "a%r", "get", "k%n", "fence", "print", "finalize",  //
               "/",  "-n", "2",     "PROBE", "put", "k%r", "b%r", "get", "k%n",   "fence", "print",    "finalize",
               "+",  "-n", "1",     "PROBE", "put", "k%r", "c%r", "get", "k%n",   "fence", "print",    "finalize"}));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(sorted_lines(all.out), (Words{"a0", "a1", "a2", "b0", "b1", "c0"}));
  EXPECT_EQ(all.err, "");
}

TEST(Keeper, OutputOfALaterJobIsLabelledWithItsNumber) {
  const Outcome all = run(several({"-l", "-n", "2", "echo", "x", "/", "-n", "2", "echo", "y"}));
  EXPECT_EQ(sorted_lines(all.out), (Words{"[0] x", "[1.0] y", "[1.1] y", "[1] x"}));
}

TEST(Keeper, ALaterJobOutlivesTheFirst) {
  const Outcome all = run(several({"-n", "1", "true", "/", "-n", "2", "sh", "-c", "sleep 0.3; echo done"}));
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "done\ndone\n");
}

TEST(Keeper, AJobThatIsConnectedWithOneThatDiesEndsToo) {
  for (const bool first_dies : {true, false}) {
    const Words dies = {"-n", "2", "PROBE", "init", "fence", "rank-kill", "1", "hang"};
    const Words lives = {"-n", "2", "sh", "-c", "sleep 1000 & PROBE init hang"};
    Words words = first_dies ? dies : lives;
    words.push_back("+");
    words.insert(words.end(), first_dies ? lives.begin() : dies.begin(), first_dies ? lives.end() : dies.end());
    Process all(several(words));
    const Outcome outcome = all.wait();
    all.await_nobody();
    EXPECT_EQ(outcome.code, 137);
    EXPECT_NE(outcome.err.find(first_dies ? "rank 1 (" : "rank 1 of job 1 ("), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("with which it is connected"), std::string::npos) << outcome.err;
  }
}

// Its orphans are told from those of the job that goes on by their environment.
TEST(Keeper, AJobThatIsNotConnectedGoesOnWithAllItHasStarted) {
  Process all(several({"-n", "1", "sh", "-c", "sleep 1000 & PROBE init kill 9", "/", "-n", "2", "sh", "-c",
                       "(sleep 0.7; echo orphan) & PROBE put k%r v get k%n fence say up finalize; wait; echo done"}));
  const Outcome outcome = all.wait();
  all.await_nobody();
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(sorted_lines(outcome.out), (Words{"0 up", "1 up", "done", "done", "orphan", "orphan"})) << outcome.err;
}

TEST(Keeper, AJobThatCannotBeStartedLeavesTheOthersAlone) {
  const Outcome all = run(several({"-n", "1", "sh", "-c", "sleep 0.2; echo on", "+", "-n", "2", "./no-such-program"}));
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "on\n");
  EXPECT_NE(all.err.find("cannot start rank 0"), std::string::npos) << all.err;
}

TEST(Keeper, ASignalReachesAllJobs) {
  Process all(several({"-n", "1", "PROBE", "say", "up", "hang", "/", "-n", "2", "PROBE", "say", "up", "hang"}));
  all.await_lines(3);
  ::kill(all.pid(), SIGTERM);
  EXPECT_EQ(all.wait().code, 128 + SIGTERM);
  all.await_nobody();
}

TEST(Keeper, ManyJobsOneAfterTheOther) {
  Words words = {"-n", "1", "sleep", "0.5"};
  for (int i = 0; i < 50; ++i) words.insert(words.end(), {"+", "-n", "2", "PROBE", "fence", "finalize"});
  EXPECT_EQ(run(several(words)).code, 0);
}

// What comes later is bound to what is free. Each says where it is while the other lives.
TEST(Keeper, ALaterJobIsBoundBesideTheFirst) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "missing here: a second CPU";
  const std::string file = ::testing::TempDir() + "rmq-bound-" + std::to_string(::getpid());
  const std::string say = "grep Cpus_allowed_list /proc/self/status; ";
  const Outcome both = run(
      several({"-n", "1", "--bind", "hwthread", "sh", "-c", say + "while [ ! -e " + file + " ]; do sleep 0.01; done",
               "/", "-n", "1", "--bind", "hwthread", "sh", "-c", say + "touch " + file}));
  ::unlink(file.c_str());
  EXPECT_EQ(both.code, 0) << both.err;
  const Words lines = sorted_lines(both.out);
  ASSERT_EQ(lines.size(), 2u) << both.out;
  EXPECT_NE(lines[0], lines[1]);
}

}  // namespace
}  // namespace rmq::test
