// SPDX-License-Identifier: BSD-3-Clause
// How a job ends: exit codes and messages, whoever ends it.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <tuple>

#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

TEST(RmqrunEnds, SilentlyAndWithZeroWhenAllRanksDo) {
  const Outcome job = run(rmqrun({"-n", "3", "PROBE", "fence", "finalize"}));
  EXPECT_EQ(job.code, 0);
  EXPECT_EQ(job.out, "");
  EXPECT_EQ(job.err, "");
}

TEST(RmqrunEnds, WithZeroForProgramsWithoutMpi) {
  EXPECT_EQ(run(rmqrun({"-n", "2", "true"})).code, 0);
}

struct Fate {
  const char* name;
  Words words;  // what rank 1 of 4 does after MPI_Init; the others wait for ever
  int code;
  const char* said;  // part of the message
};

class RmqrunDeath : public ::testing::TestWithParam<Fate> {};

TEST_P(RmqrunDeath, EndsTheOthersAndIsNamed) {
  Words command = {"-n", "1", "PROBE", "init", "hang", ":", "-n", "1", "PROBE", "init"};
  command.insert(command.end(), GetParam().words.begin(), GetParam().words.end());
  command.insert(command.end(), {":", "-n", "1", "PROBE", "init", "watch", ":", "-n", "1", "PROBE", "init", "spin"});
  Process job(rmqrun(command));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, GetParam().code);
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("rank_probe"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(GetParam().said), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Ways, RmqrunDeath,
                         ::testing::Values(Fate{"Sigkill", {"kill", "9"}, 137, "SIGKILL"},
                                           Fate{"Sigsegv", {"kill", "11"}, 139, "SIGSEGV"},
                                           Fate{"ExitCode", {"exit", "42"}, 42, "code 42"},
                                           Fate{"NoFinalize", {"exit", "0"}, 1, "MPI_Finalize"},
                                           Fate{"Abort", {"abort", "7"}, 7, "as told"},
                                           Fate{"AbortBeyondEightBits", {"abort", "256"}, 1, "code 256"},
                                           Fate{"AbortWithZero", {"abort", "0"}, 0, "code 0"}),
                         [](const auto& death) { return std::string(death.param.name); });

TEST(RmqrunEnds, EveryRankMayBeTheOneThatIsKilled) {
  for (const char* victim : {"0", "1", "2", "3"}) {
    Process job(rmqrun({"-n", "4", "PROBE", "init", "fence", "rank-kill", victim, "hang"}));
    const Outcome outcome = job.wait();
    job.await_nobody();
    EXPECT_EQ(outcome.code, 137);
    EXPECT_NE(outcome.err.find(std::string("rank ") + victim + " "), std::string::npos) << outcome.err;
  }
}

// Much memory takes a while to go, and only then the parent hears of the end: here after what others make of it.
TEST(RmqrunEnds, ADeathIsTheCauseOfWhatOthersReportWhileItLasts) {
  Process job(rmqrun({"-n", "1", "PROBE", "get", "victim", "strike", "abort", "3", ":", "-n", "1", "PROBE", "grow",
                      "800", "put", "victim", "%p", "hang"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 137) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
}

TEST(RmqrunEnds, ADeathIsTheCauseOfAnExitWhileItLasts) {
  Process job(rmqrun({"-n", "1", "PROBE", "get", "victim", "strike", "exit", "3", ":", "-n", "1", "PROBE", "grow",
                      "800", "put", "victim", "%p", "hang"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 137) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
}

TEST(RmqrunEnds, ADeathBehindAWrapperIsTheCauseOfWhatOthersReport) {
  Process job(rmqrun({"-n", "1", "PROBE", "get", "victim", "strike", "abort", "3", ":", "-n", "1", "sh", "-c",
                      "PROBE grow 800 put victim %p hang; exit 7"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1 (sh)"), std::string::npos) << outcome.err;
}

// The wrapped program that only reports the loss has ended long before the cause shows.
TEST(RmqrunEnds, ALossBehindAWrapperIsNotTheCauseOfADeathThatLasts) {
  Process job(rmqrun({"-n", "1", "sh", "-c", "PROBE get victim strike lose; sleep 1000", ":", "-n", "1", "PROBE",
                      "grow", "1600", "put", "victim", "%p", "hang"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 137) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
}

// An abort in so many words ends the job at once, whatever its code.
TEST(RmqrunEnds, AnAbortWithTheCodeOfALossIsNone) {
  Process job(rmqrun({"-n", "1", "PROBE", "fence", "lose", ":", "-n", "1", "PROBE", "fence", "abort", "101"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 101) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1 (" + probe_path() + ") aborted the job with code 101: as told"), std::string::npos)
      << outcome.err;
}

TEST(RmqrunEnds, AnAbortWaitsForNoStreamThatAThreadHolds) {
  EXPECT_EQ(run({probe_path(), "read", "abort", "5"}).code, 5);  // nobody would kill it
  EXPECT_EQ(run(rmqrun({"-n", "2", "PROBE", "read", "abort", "5"})).code, 5);
}

// /proc shows such a process as a zombie, but it is not on its way out: nobody waits for its end, and it is killed.
TEST(RmqrunEnds, ARankWhoseFirstThreadHasEndedLivesOn) {
  Process job(rmqrun({"--timeout", "6", "-n", "1", "PROBE", "init", "outlive", "fence", "hang", ":", "-n", "1", "PROBE",
                      "fence", "abort", "3"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  job.await_nobody();
}

TEST(RmqrunEnds, AFailureAfterFinalizeLetsTheOthersFinish) {
  const Outcome job =
      run(rmqrun({"-n", "1", "PROBE", "finalize", "exit", "3", ":", "-n", "2", "PROBE", "finalize", "echo", "done"}));
  EXPECT_EQ(job.code, 3);
  EXPECT_EQ(job.out, "done\ndone\n");
}

TEST(RmqrunEnds, ADeadMpiProgramIsNoticedBehindAWrapperThatLives) {
  Process job(rmqrun({"-n", "2", "sh", "-c", "PROBE init fence rank-kill 1 hang; sleep 1000"}));
  const Outcome outcome = job.wait();
  job.await_nobody();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("rank 1 (sh) ended without calling MPI_Finalize"), std::string::npos) << outcome.err;
}

TEST(RmqrunEnds, ARankThatLeavesWhileOthersWaitForItIsNamed) {
  const Outcome job = run(rmqrun({"-n", "1", "PROBE", "fence", "finalize", ":", "-n", "1", "PROBE", "finalize"}));
  EXPECT_EQ(job.code, 1);
  EXPECT_NE(job.err.find("rank 1"), std::string::npos) << job.err;
}

TEST(RmqrunEnds, ARankThatLeavesBeforeInitIsNamedWhetherOrNotOthersHaveCome) {
  for (const auto& [first, second, missing] : {std::tuple{"exit 0", "sleep 0.3; exec PROBE get never", "rank 0 (sh)"},
                                               std::tuple{"exec PROBE init hang", "sleep 0.3", "rank 1 (sh)"}}) {
    Process job(rmqrun({"-n", "1", "sh", "-c", first, ":", "-n", "1", "sh", "-c", second}));
    const Outcome outcome = job.wait();
    job.await_nobody();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(missing + std::string(": it left without calling MPI_Init")), std::string::npos)
        << outcome.err;
  }
}

TEST(RmqrunEnds, ARankWhoseDescendantMayStillCallInitHasNotLeft) {
  const Outcome job = run(rmqrun({"-n", "1", "sh", "-c", "(sleep 0.3; exec PROBE put k v finalize) &", ":", "-n", "1",
                                  "PROBE", "get", "k", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
}

TEST(RmqrunEnds, AtItsTimeLimit) {
  for (const auto& [arguments, variable] :
       {std::pair<Words, const char*>{{"--timeout", "0.2", "-n", "2", "PROBE", "hang"}, ""},
        {{"-n", "2", "PROBE", "hang"}, "1"}}) {
    Process job(rmqrun(arguments), "", {{"MPIEXEC_TIMEOUT", variable}});
    const Outcome outcome = job.wait();
    job.await_nobody();
    EXPECT_EQ(outcome.code, 124);
    EXPECT_NE(outcome.err.find("did not end within"), std::string::npos) << outcome.err;
  }
}

TEST(RmqrunEnds, AtItsTimeLimitSayingWhatTheRanksDo) {
  const Outcome job = run(rmqrun({"--timeout", "6", "-n", "2", "PROBE", "init", "stall"}));
  EXPECT_EQ(job.code, 124);
  EXPECT_NE(job.err.find("what the ranks are doing:"), std::string::npos) << job.err;
  EXPECT_NE(job.err.find("computing in MPI_Recv"), std::string::npos) << job.err;
}

TEST(RmqrunEnds, OnceItHangsAndEachRankHasToldWhy) {
  const Outcome job = run(rmqrun({"--hang-after", "0.4", "--hang-abort", "-n", "2", "PROBE", "init", "stall"}));
  EXPECT_EQ(job.code, 125);
  EXPECT_NE(job.err.find("cycle of receives: Ranks 0, 1 wait for each other"), std::string::npos) << job.err;
  EXPECT_EQ(job.err.find("does not answer"), std::string::npos) << job.err;
}

TEST(RmqrunEnds, WhenAProgramCannotBeStarted) {
  for (const char* program : {"./no-such-program", "no-such-program", "/", "/etc/passwd"}) {
    const Outcome job = run(rmqrun({"-n", "2", program}));
    EXPECT_EQ(job.code, 127) << program;
    EXPECT_NE(job.err.find(program), std::string::npos) << job.err;
    EXPECT_NE(job.err.find("rank 0"), std::string::npos) << job.err;
  }
}

TEST(RmqrunEnds, WithUsageErrorsThatNameTheOption) {
  const std::pair<Words, const char*> cases[] = {
      {{}, "no program"},
      {{"-n"}, "-n needs"},
      {{"-n", "0", "true"}, "-n 0"},
      {{"-n", "x", "true"}, "-n x"},
      {{"--frobnicate", "true"}, "--frobnicate"},
      {{"-n", "3", "--host-split", "1,1", "true"}, "--host-split 1,1 places 2 ranks, but there are 3"},
      {{"-n", "3", "--host-split", "3,", "true"}, "--host-split"},
      {{"--method", "pigeon", "true"}, "pigeon"},
      {{"--timeout", "soon", "true"}, "soon"},
      {{"-hosts", "a,,b", "true"}, "-hosts a,,b"},
      {{"-ppn", "many", "true"}, "-ppn many"},
      {{"--map-by", "ppr:2:node", "true"}, "--map-by ppr:2:node does not say how many ranks to start here; add -n N"},
      {{"-n", "1", "true", ":"}, "':'"},
  };
  for (const auto& [arguments, said] : cases) {
    const Outcome job = run(rmqrun(arguments));
    EXPECT_EQ(job.code, 2) << said;
    EXPECT_NE(job.err.find(said), std::string::npos) << job.err;
  }
}

TEST(RmqrunEnds, SixtyFourRanksMeet) {
  Words expected;
  for (int rank = 0; rank < 64; ++rank) expected.push_back("v" + std::to_string(rank));
  std::sort(expected.begin(), expected.end());
  const Outcome job =
      run(rmqrun({"-n", "64", "PROBE", "put", "k%r", "v%r", "get", "k%n", "fence", "print", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out), expected);
}

// As a parent of Python's has it, or a shell after trap '' CHLD.
TEST(RmqrunEnds, ChildrenAreWaitedForThoughTheParentIgnoresThem) {
  std::vector<std::string> command = {"bash", "-c", "trap '' CHLD; exec \"$@\"", "bash"};
  for (const std::string& word : rmqrun({"-n", "2", "PROBE", "say", "up", "finalize"})) command.push_back(word);
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out).size(), 2u);
}

TEST(RmqrunEnds, ShortestHangTimeLeavesTheLauncherTimeForTheJob) {
  const Outcome outcome = run(rmqrun({"-n", "2", "--hang-after", "0.003", "PROBE", "init", "fence", "finalize"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(RmqrunEnds, WorkingFolderThatIsGoneIsSaid) {
  std::vector<std::string> command = {"sh", "-c", "d=$(mktemp -d) && cd $d && rmdir $d && exec \"$@\"", "sh"};
  for (const std::string& word : rmqrun({"-n", "1", "--trace", "t", "true"})) command.push_back(word);
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("working folder"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace rmq::test
