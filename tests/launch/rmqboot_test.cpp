// SPDX-License-Identifier: BSD-3-Clause
// The start through another MPI: the same job under mpiexec of MPICH and of Open MPI.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

struct HostMpi {
  const char* name;
  const char* helper;
  Words mpiexec;
};

class Rmqboot : public ::testing::TestWithParam<HostMpi> {
 protected:
  void SetUp() override {
    if (::access(GetParam().helper, X_OK) != 0)
      GTEST_SKIP() << "missing here: " << GetParam().name << ", when the build was configured";
  }

  static Words boot(int ranks, const Words& program) {
    Words command = GetParam().mpiexec;
    command.insert(command.end(), {"-n", std::to_string(ranks), RMQ_BIN_DIR "/rmqboot"});
    command.insert(command.end(), program.begin(), program.end());
    return command;
  }
};

TEST_P(Rmqboot, StartsTheSameJob) {
  Process job(boot(4, {probe_path(), "where", "put", "k%r", "v%r", "fence", "get", "k%n", "print", "finalize"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const long universe = std::max(8L, ::sysconf(_SC_NPROCESSORS_ONLN));  // as many again, or a CPU each
  const auto where = [&](int rank) {
    return fmt::format("{0} of 4 host 0: {0} of 4 app 0 universe {1}", rank, universe);
  };
  EXPECT_EQ(sorted_lines(outcome.out), (Words{where(0), where(1), where(2), where(3), "v0", "v1", "v2", "v3"}));
  job.await_nobody();
}

TEST_P(Rmqboot, LeavesNoTraceOfTheHostMpiInTheProgram) {
  const Outcome job = run(boot(
      2, {"sh", "-c",
          "env | grep -E '^(PMI|PMIX|HYDI|OMPI_COMM)' ; ls /proc/self/fd | wc -l; grep -c mpi /proc/self/maps; true"}));
  // Five and the flight recorder: 0 to 2, the socket to the server, and that of ls.
  EXPECT_EQ(sorted_lines(job.out), (Words{"0", "0", "6", "6"})) << job.err;
}

TEST_P(Rmqboot, AnAbortEndsTheJobWithItsCode) {
  Process job(boot(3, {probe_path(), "init", "fence", "rank-abort", "1", "watch"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  job.await_nobody();
}

// The first report is rank 1's, whose minder hears of its end long before that of the victim.
TEST_P(Rmqboot, ADeathIsTheCauseOfTheLossThatOthersReport) {
  Process job(boot(3, {"sh", "-c",
                       "case $RMQ_RANK in 0) exec $0 init watch;; 1) exec $0 get victim strike lose;; "
                       "*) exec $0 grow 300 put victim %p hang;; esac",
                       probe_path()}));
  const Outcome outcome = job.wait();
  EXPECT_NE(outcome.code, 101) << outcome.err;  // 137, or what the host's launcher makes of it
  EXPECT_NE(outcome.err.find("rmqboot: rank 2 "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("SIGKILL"), std::string::npos) << outcome.err;
  job.await_nobody();
}

TEST_P(Rmqboot, ALossIsTheCauseWhereNothingElseHasHappened) {
  for (const int ranks : {1, 3}) {
    Process job(boot(ranks, {probe_path(), "fence", "lose"}));
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 101) << outcome.err;
    EXPECT_NE(outcome.err.find("aborted the job with code 101: another is lost"), std::string::npos) << outcome.err;
    job.await_nobody();
  }
}

TEST_P(Rmqboot, AFailureAfterFinalizeLetsTheOthersFinish) {
  const Outcome job = run(boot(2, {"sh", "-c", "exec $0 finalize exit $RMQ_RANK", probe_path()}));
  EXPECT_EQ(job.code, 1) << job.err;
}

TEST_P(Rmqboot, ADeadRankEndsTheJob) {
  for (const char* victim : {"0", "2"}) {
    Process job(boot(3, {probe_path(), "init", "fence", "rank-kill", victim, "watch"}));
    const Outcome outcome = job.wait();
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(
        outcome.err.find(std::string("rank ") + victim + " (" + probe_path() + ") was killed by signal 9 (SIGKILL)"),
        std::string::npos)
        << outcome.err;
    job.await_nobody();
  }
}

TEST_P(Rmqboot, ARankThatLeavesBeforeInitIsNamed) {
  Process job(boot(3, {"sh", "-c", "test $RMQ_RANK = 0 || exec " + probe_path() + " get never"}));
  const Outcome outcome = job.wait();
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("rank 0: it left without calling MPI_Init"), std::string::npos) << outcome.err;
  job.await_nobody();
}

TEST_P(Rmqboot, LeavingWithoutFinalizeIsAFailure) {
  Process job(boot(2, {probe_path(), "init", "fence", "exit", "0"}));
  const Outcome outcome = job.wait();
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("exited with code 0 without calling MPI_Finalize"), std::string::npos) << outcome.err;
  job.await_nobody();
}

TEST_P(Rmqboot, AFailureEndsRanksThatOnlyCompute) {
  Process job(boot(3, {probe_path(), "init", "fence", "rank-abort", "1", "spin"}));
  EXPECT_EQ(job.wait().code, 7);
  job.await_nobody();
}

TEST_P(Rmqboot, AProgramThatCannotBeStartedIsNamed) {
  const Outcome job = run(boot(2, {"./no-such-program"}));
  EXPECT_EQ(job.code, 127);
  EXPECT_NE(job.err.find("./no-such-program"), std::string::npos) << job.err;
}

TEST_P(Rmqboot, WithoutAConnectionToTheLauncherAProgramRefusesToRun) {
  Words command = GetParam().mpiexec;
  command.insert(command.end(), {"-n", "2", "env", "-u", "PMI_FD", "-u", "PMIX_NAMESPACE", probe_path(), "init"});
  const Outcome job = run(command);
  EXPECT_NE(job.code, 0);
  EXPECT_NE(job.err.find("rmqboot"), std::string::npos) << job.err;
}

INSTANTIATE_TEST_SUITE_P(Hosts, Rmqboot,
                         ::testing::Values(HostMpi{"Mpich", RMQ_LIBEXEC_DIR "/rmqboot-mpich", {"mpiexec.mpich"}},
                                           HostMpi{"OpenMpi",
                                                   RMQ_LIBEXEC_DIR "/rmqboot-openmpi",
                                                   {"mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe"}}),
                         [](const auto& host) { return std::string(host.param.name); });

TEST(RmqbootAlone, SaysWhatToDo) {
  const Outcome alone = run({RMQ_BIN_DIR "/rmqboot", "true"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("mpiexec -n N rmqboot"), std::string::npos) << alone.err;
  const Outcome srun = run({RMQ_BIN_DIR "/rmqboot", "true"}, "", {{"SLURM_PROCID", "0"}});
  EXPECT_NE(srun.err.find("srun"), std::string::npos) << srun.err;
}

}  // namespace
}  // namespace rmq::test
