// The start by another launcher with no rmqboot: Hydra over PMI-1, Open MPI's over PMIx, and rmqrun --pmi over PMI-1;
// and rmqrun --pmi with programs of MPICH's own library.
#include <gtest/gtest.h>

#include <string>

#include "tests/launch/processes.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

bool is_here(const std::string& program) {
  return launch::find_program(program, std::getenv("PATH"), "").has_value();
}

struct Foreign {
  const char* name;
  Words command;  // before -n
};

class Direct : public ::testing::TestWithParam<Foreign> {
 protected:
  void SetUp() override {
    if (!is_here(GetParam().command[0])) GTEST_SKIP() << "missing here: " << GetParam().command[0];
  }

  static Words start(int ranks, const Words& program) {
    Words command = GetParam().command;
    command.insert(command.end(), {"-n", std::to_string(ranks)});
    command.insert(command.end(), program.begin(), program.end());
    return command;
  }
};

TEST_P(Direct, StartsTheSameJob) {
  Process job(start(4, {probe_path(), "where", "put", "k%r", "v%r", "fence", "get", "k%n", "print", "finalize"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> lines;
  for (std::string line : sorted_lines(outcome.out))
    lines.push_back(line.substr(0, line.find(" universe")));  // as many as the launcher has slots
  EXPECT_EQ(lines, (Words{"0 of 4 host 0: 0 of 4 app 0", "1 of 4 host 0: 1 of 4 app 0", "2 of 4 host 0: 2 of 4 app 0",
                          "3 of 4 host 0: 3 of 4 app 0", "v0", "v1", "v2", "v3"}))
      << outcome.err;
  EXPECT_EQ(outcome.err, "");
  job.await_nobody();
}

TEST_P(Direct, StartsUnderWrappers) {
  Process job(start(2, {"sh", "-c", "sh -c '" + probe_path() + " fence where finalize; true'; true"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out).size(), 2u) << outcome.out;
  job.await_nobody();
}

TEST_P(Direct, OneRankStartsNoServer) {
  const Outcome job =
      run(start(1, {probe_path(), "where", "run", "ps -eo args | grep -c '^rmqboot --serve-started 1 '", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out, "0 of 1 host 0: 0 of 1 app 0 universe 1\n0\n");
}

TEST_P(Direct, NoLibraryOfTheOtherMpiIsLoaded) {
  const Outcome job = run(start(2, {probe_path(), "fence", "run",
                                    "grep -c -E 'lib(mpi|mpich|open-rte|open-pal)[.]' /proc/$PPID/maps", "finalize"}));
  EXPECT_EQ(sorted_lines(job.out), (Words{"0", "0"})) << job.err;
}

TEST_P(Direct, WhatARankStartsIsNoRank) {
  const Outcome job =
      run(start(2, {probe_path(), "fence", "run",
                    probe_path() + " init 2>&1 | grep -o 'was started from within a rank'", "finalize"}));
  EXPECT_EQ(sorted_lines(job.out), (Words{"was started from within a rank", "was started from within a rank"}))
      << job.err;
}

TEST_P(Direct, AnAbortEndsTheJobWithItsCode) {
  for (const char* others : {"watch", "spin"}) {
    Process job(start(3, {probe_path(), "init", "fence", "rank-abort", "1", others}));
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 7) << outcome.err;
    job.await_nobody();
  }
}

TEST_P(Direct, ADeadRankEndsTheJob) {
  for (const char* victim : {"0", "2"}) {
    for (const char* others : {"watch", "spin"}) {
      Process job(start(3, {probe_path(), "init", "fence", "rank-kill", victim, others}));
      const Outcome outcome = job.wait();
      EXPECT_NE(outcome.code, 0) << outcome.err;
      job.await_nobody();
    }
  }
}

TEST_P(Direct, LeavingWithoutFinalizeEndsTheJob) {
  Process job(start(2, {"sh", "-c",
                        "case $" + std::string(GetParam().name == std::string("OpenMpi") ? "PMIX" : "PMI") +
                            "_RANK in 1) exec $0 init fence exit 3;; *) exec $0 init fence watch;; esac",
                        probe_path()}));
  EXPECT_NE(job.wait().code, 0);
  job.await_nobody();
}

TEST_P(Direct, AFailureAfterFinalizeLetsTheOthersFinish) {
  const Outcome job = run(start(2, {probe_path(), "init", "fence", "finalize", "rank", "1", "exit", "3"}));
  EXPECT_EQ(job.code, 3) << job.err;
}

INSTANTIATE_TEST_SUITE_P(Hosts, Direct,
                         ::testing::Values(Foreign{"Hydra", {"mpiexec.mpich"}},
                                           Foreign{"OpenMpi",
                                                   {"mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe"}},
                                           Foreign{"Rmqrun", {RMQ_BIN_DIR "/rmqrun", "--pmi"}}),
                         [](const auto& host) { return std::string(host.param.name); });

TEST(DirectByPort, StartsTheSameJob) {
  if (!is_here("mpiexec.mpich")) GTEST_SKIP() << "missing here: mpiexec.mpich";
  Process job({"mpiexec.mpich", "-pmi-port", "-n", "3", probe_path(), "fence", "say", "here", "finalize"});
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out), (Words{"0 here", "1 here", "2 here"}));
  job.await_nobody();
}

// Programs with MPICH's own library: tests/launch/pmi_guest.c.
class Guest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(PMI_GUEST).empty()) GTEST_SKIP() << "missing here: mpicc.mpich, when the build was configured";
  }
  static Outcome guest(const Words& before, const Words& arguments, int ranks = 3) {
    Words command{RMQ_BIN_DIR "/rmqrun", "--pmi"};
    command.insert(command.end(), before.begin(), before.end());
    command.insert(command.end(), {"-n", std::to_string(ranks), PMI_GUEST});
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
  }
};

TEST_F(Guest, RunsWithItsOwnLibrary) {
  const Outcome job = guest({"--usize", "5"}, {});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out), (Words{"0 of 3 sum 6 universe 5 app 0 MPICH", "1 of 3 sum 6 universe 5 app 0 MPICH",
                                          "2 of 3 sum 6 universe 5 app 0 MPICH"}));
}

TEST_F(Guest, SectionsAndHostsReachIt) {
  const Outcome job = guest({"--host-split", "1,1"}, {":", "-n", "1", PMI_GUEST}, 1);
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out),
            (Words{"0 of 2 sum 3 universe 2 app 0 MPICH", "1 of 2 sum 3 universe 2 app 1 MPICH"}));
}

TEST_F(Guest, ItsEndsAreJudgedAsOurs) {
  const Outcome abort = guest({}, {"abort"});
  EXPECT_EQ(abort.code, 7);
  EXPECT_NE(abort.err.find("rank 1 (" PMI_GUEST ") aborted the job with code 7"), std::string::npos) << abort.err;
  const Outcome die = guest({}, {"die"});
  EXPECT_EQ(die.code, 137);
  EXPECT_NE(die.err.find("rank 1 (" PMI_GUEST ") was killed by signal 9"), std::string::npos) << die.err;
  const Outcome leave = guest({}, {"leave"});
  EXPECT_EQ(leave.code, 1);
  EXPECT_NE(leave.err.find("without calling MPI_Finalize"), std::string::npos) << leave.err;
}

TEST_F(Guest, NamesArePublishedAndSpawnIsRefused) {
  EXPECT_EQ(guest({}, {"names"}).out, "found\n");
  const Outcome spawn = guest({}, {"spawn"}, 1);
  EXPECT_EQ(spawn.out, "refused\n") << spawn.err;
}

TEST(GuestOptions, WhatMeansNothingToOtherLibrariesIsRefused) {
  const Outcome job = run(rmqrun({"--pmi", "--method", "tcp", "true"}));
  EXPECT_EQ(job.code, 2);
  EXPECT_NE(job.err.find("--pmi"), std::string::npos) << job.err;
}

}  // namespace
}  // namespace rmq::test
