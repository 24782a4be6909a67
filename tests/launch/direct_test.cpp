// SPDX-License-Identifier: BSD-3-Clause
// The start by another launcher with no rmqboot: Hydra over PMI-1, Open MPI's over PMIx, and rmqrun --pmi over PMI-1;
// and rmqrun --pmi with programs of MPICH's own library.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

// Of the servers on this machine only those of this job count.
TEST_P(Direct, OneRankStartsNoServer) {
  const std::string count =
      "for e in $(grep -lzs \"^RMQ_TEST_MARK=$RMQ_TEST_MARK\\$\" /proc/[0-9]*/environ); do tr '\\0' ' ' "
      "<${e%environ}cmdline; echo; "
      "done 2>/dev/null | grep -c '^rmqboot --serve-started '";
  const Outcome one = run(start(1, {probe_path(), "where", "run", count, "finalize"}));
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(sorted_lines(one.out),
            (Words{"0", fmt::format("0 of 1 host 0: 0 of 1 app 0 universe {}", slots_of_one())}));
  const Outcome two = run(start(2, {probe_path(), "fence", "run", count, "fence", "finalize"}));
  EXPECT_EQ(sorted_lines(two.out), (Words{"1", "1"})) << two.err;
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

// Rank 0 waits for rank 1, which waits for what rank 0 says of that.
TEST_P(Direct, WaitingForRanksThatDoNotComeIsSaid) {
  const Outcome job = run(start(
      2, {"sh", "-c",
          "case ${PMI_RANK:-$PMIX_RANK} in 1) mkfifo $1; read line <$1; rm $1; echo \"$line\";; *) until [ -p $1 ]; do "
          ":; done; exec 2>$1;; esac; exec $0 fence finalize",
          probe_path(), "/tmp/direct_test." + std::to_string(::getpid())}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_NE(job.out.find("rank 0 has waited for 10 s: not all of the 2 ranks"), std::string::npos)
      << job.out << job.err;
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

TEST_F(Guest, NamesArePublished) {
  const Outcome job = guest({}, {"names"});
  EXPECT_EQ(job.out, "found\n") << job.err;
}

// A rank that speaks PMI-1 by hand: each line, and what is answered.
Outcome speak(const Words& lines) {
  std::string script = "ask() { printf '%b\\n' \"$1\" >&$PMI_FD; read -r -u $PMI_FD line && echo \"$line\"; }\n";
  for (const std::string& line : lines) script += "ask '" + line + "'\n";
  return run({RMQ_BIN_DIR "/rmqrun", "--pmi", "-n", "1", "bash", "-c", script});
}

constexpr const char* kInit = "cmd=init pmi_version=1 pmi_subversion=1";

TEST(PmiServer, AnswersALibrary) {
  const Outcome job =
      speak({"cmd=init pmi_version=1 pmi_subversion=2", "cmd=get_maxes", "cmd=put kvsname=other key=k value=v",
             "cmd=get kvsname=x key=PMI_process_mapping", "cmd=get kvsname=x key=none", "cmd=lookup_name service=s",
             "cmd=publish_name service=s port=p", "cmd=publish_name service=s port=q", "cmd=lookup_name service=s",
             "cmd=unpublish_name service=s", "cmd=unpublish_name service=s", "cmd=barrier_in", "cmd=finalize"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out,
            "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n"
            "cmd=maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=4096\n"
            "cmd=put_result rc=-1 msg=no_such_kvs_or_no_key\n"
            "cmd=get_result info=ok rc=0 msg=success value=(vector,(0,1,1))\n"
            "cmd=get_result info=fail rc=-1 msg=key_not_found\n"
            "cmd=lookup_result info=fail rc=-1 msg=key_not_found\n"
            "cmd=publish_result info=ok rc=0 msg=success\n"
            "cmd=publish_result info=fail rc=-1 msg=published\n"
            "cmd=lookup_result info=ok rc=0 msg=success port=p\n"
            "cmd=unpublish_result info=ok rc=0 msg=success\n"
            "cmd=unpublish_result info=fail rc=-1 msg=not_published\n"
            "cmd=barrier_out rc=0\n"
            "cmd=finalize_ack rc=0\n");
}

TEST(PmiServer, RefusesToSpawnAndSaysSo) {
  const Outcome job =
      speak({kInit, "mcmd=spawn\\nnprocs=1\\nexecname=a b\\ntotspawns=1\\nspawnssofar=1\\nendcmd", "cmd=finalize"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_NE(job.out.find("cmd=spawn_result rc=-1"), std::string::npos) << job.out;
  EXPECT_NE(job.err.find("rank 0 asks for new processes (MPI_Comm_spawn)"), std::string::npos) << job.err;
}

TEST(PmiServer, WhatIsNoPmiOneEndsTheJobByName) {
  const Outcome other = speak({kInit, "cmd=dance"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("'cmd=dance'"), std::string::npos) << other.err;
  const Outcome two = speak({"cmd=init pmi_version=2 pmi_subversion=0", "cmd=barrier_in"});
  EXPECT_NE(two.err.find("speaks PMI-2, and rmqrun only PMI-1"), std::string::npos) << two.err;
  const Outcome flood = run({RMQ_BIN_DIR "/rmqrun", "--pmi", "--timeout", "60", "-n", "1", "bash", "-c",
                             "printf '" + std::string(kInit) + "\\n' >&$PMI_FD; exec yes cmd=get_maxes >&$PMI_FD"});
  EXPECT_NE(flood.code, 124);
  EXPECT_NE(flood.err.find("does not read the answers"), std::string::npos) << flood.err;
}

TEST(GuestOptions, WhatMeansNothingToOtherLibrariesIsRefused) {
  const Outcome job = run(rmqrun({"--pmi", "--method", "tcp", "true"}));
  EXPECT_EQ(job.code, 2);
  EXPECT_NE(job.err.find("--pmi"), std::string::npos) << job.err;
}

}  // namespace
}  // namespace rmq::test
