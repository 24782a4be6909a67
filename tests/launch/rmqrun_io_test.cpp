// SPDX-License-Identifier: BSD-3-Clause
// What goes into the ranks (arguments, environment, stdin, signals) and comes out of them.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

TEST(RmqrunIo, RanksKnowWhereTheyAre) {
  const Outcome job = run(rmqrun({"-np", "3", "--host-split", "2,2", "--usize", "9", "PROBE", "where", "finalize", ":",
                                  "-n", "1", "PROBE", "where", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out),
            (Words{"0 of 4 host 0: 0 of 2 app 0 universe 9", "1 of 4 host 0: 1 of 2 app 0 universe 9",
                   "2 of 4 host 1: 0 of 2 app 0 universe 9", "3 of 4 host 1: 1 of 2 app 1 universe 9"}));
}

// By this number idle ranks decide whether to give their core away.
TEST(RmqrunIo, RanksOnPretendedHostsKnowHowManyShareTheMachine) {
  EXPECT_EQ(run(rmqrun({"-n", "3", "--host-split", "2,1", "PROBE", "env", "RMQ_MACHINE_SIZE"})).out, "3\n3\n3\n");
}

// Bound ranks have one CPU each, ranks of a launcher that is bound all have the same one.
TEST(RmqrunIo, RanksKnowHowManyCpusTheyHaveTogether) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  const std::string count = std::to_string(CPU_COUNT(&all));
  EXPECT_EQ(run(rmqrun({"-n", "2", "--bind", "core", "PROBE", "env", "RMQ_MACHINE_CPUS"})).out,
            count + "\n" + count + "\n");
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Outcome job = run(rmqrun({"-n", "2", "PROBE", "env", "RMQ_MACHINE_CPUS"}));
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(job.out, "1\n1\n");
}

TEST(RmqrunIo, ArgumentsAfterTheProgramBelongToIt) {
  EXPECT_EQ(run(rmqrun({"-n", "1", "echo", "-n", "2", "--", "--timeout", "x"})).out, "2 -- --timeout x");
  EXPECT_EQ(run(rmqrun({"-n", "1", "--", "echo", "-l"})).out, "-l\n");
}

TEST(RmqrunIo, OptionsOfOtherLaunchersAreAccepted) {
  EXPECT_EQ(run(rmqrun({"--allow-run-as-root", "--oversubscribe", "-bind-to", "core", "--map-by", "slot", "--mca",
                        "pml", "ob1", "-c", "2", "echo", "x"}))
                .out,
            "x\nx\n");
}

TEST(RmqrunIo, OptionsThatChangeNothingHereSaySo) {
  const std::pair<Words, const char*> cases[] = {
      {{"-n", "2", "-ppn", "1", "echo", "x"}, "-ppn 1 changes nothing: all 2 ranks run on this machine"},
      {{"-n", "2", "--map-by", "node", "echo", "x"}, "--map-by node changes nothing"},
      {{"-n", "2", "--mca", "btl", "tcp", "echo", "x"}, "--mca btl tcp is ignored"},
  };
  for (const auto& [arguments, said] : cases) {
    const Outcome job = run(rmqrun(arguments));
    EXPECT_EQ(job.out, "x\nx\n");
    EXPECT_NE(job.err.find(said), std::string::npos) << job.err;
  }
  // These do what they ask for.
  const Outcome same =
      run(rmqrun({"-n", "2", "-ppn", "2", "-genvlist", "A,B", "PROBE", "env", "B"}), "", {{"A", "1"}, {"B", "2"}});
  EXPECT_EQ(same.out, "2\n2\n");
  EXPECT_EQ(same.err, "");
  EXPECT_EQ(run(rmqrun({"-N", "3", "echo", "x"})).out, "x\nx\nx\n");
}

// Whatever this machine has, a rank that is bound may use no more than before.
TEST(RmqrunIo, RanksAreBoundAndSaidToBe) {
  const Outcome job = run(rmqrun(
      {"-n", "2", "--bind", "hwthread", "--report-bindings", "sh", "-c", "grep Cpus_allowed_list /proc/self/status"}));
  EXPECT_EQ(job.code, 0) << job.err;
  Words said, found;
  for (const std::string& line : sorted_lines(job.err)) said.push_back(line.substr(line.rfind(' ') + 1));
  for (const std::string& line : sorted_lines(job.out)) found.push_back(line.substr(line.rfind('\t') + 1));
  std::sort(said.begin(), said.end());
  EXPECT_EQ(said, found) << job.err;
  for (const std::string& cpu : found) EXPECT_EQ(cpu.find_first_of("-,"), std::string::npos) << cpu;
  EXPECT_NE(run(rmqrun({"--bind", "board", "true"})).err.find("--bind board"), std::string::npos);
}

TEST(RmqrunIo, AnAllocationOfSlurmSaysHowManyRanks) {
  const Outcome job = run(rmqrun({"echo", "x"}), "", {{"SLURM_NTASKS", "3"}, {"SLURM_JOB_NUM_NODES", "1"}});
  EXPECT_EQ(job.out, "x\nx\nx\n");
  EXPECT_NE(job.err.find("starts 3 ranks, as SLURM_NTASKS says"), std::string::npos) << job.err;
  const Outcome given = run(rmqrun({"-n", "1", "echo", "x"}), "", {{"SLURM_NTASKS", "3"}});
  EXPECT_EQ(given.out, "x\n");
  EXPECT_EQ(given.err, "");
  const Outcome several = run(rmqrun({"echo", "x"}), "", {{"SLURM_NTASKS", "4"}, {"SLURM_JOB_NUM_NODES", "2"}});
  EXPECT_EQ(several.code, 2);
  EXPECT_EQ(several.out, "");
  EXPECT_NE(several.err.find("SLURM_JOB_NODELIST"), std::string::npos) << several.err;
}

TEST(RmqrunIo, PretendedHostsTalkOverTheLoopback) {
  EXPECT_EQ(run(rmqrun({"-n", "2", "--host-split", "1,1", "PROBE", "env", "RMQ_TCP_INTERFACE"})).out, "lo\nlo\n");
  EXPECT_EQ(run(rmqrun({"-n", "2", "--host-split", "1,1", "-x", "RMQ_TCP_INTERFACE=eth7", "PROBE", "env",
                        "RMQ_TCP_INTERFACE"}))
                .out,
            "eth7\neth7\n");
  EXPECT_EQ(run(rmqrun({"-n", "1", "PROBE", "env", "RMQ_TCP_INTERFACE"})).out, "(unset)\n");
}

TEST(RmqrunIo, EnvironmentReachesTheRanks) {
  EXPECT_EQ(run(rmqrun({"-x", "A=1", "PROBE", "env", "A"})).out, "1\n");
  EXPECT_EQ(run(rmqrun({"-x", "A", "PROBE", "env", "A"}), "", {{"A", "7"}}).out, "7\n");
  EXPECT_EQ(
      run(rmqrun({"-genv", "A", "1", "-env", "B", "2", "PROBE", "env", "B", ":", "PROBE", "env", "A", "env", "B"}))
          .out.size(),
      std::string("2\n1\n(unset)\n").size());
  EXPECT_EQ(run(rmqrun({"--method", "shm,tcp", "PROBE", "env", "RMQ_METHODS"})).out, "shm,tcp\n");
}

TEST(RmqrunIo, TheTraceFolderIsMadeAndNamedAbsolutely) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rmq-trace-" + std::to_string(::getpid()));
  const Outcome job = run(rmqrun({"--trace", folder / "a", "--wdir", "/", "PROBE", "env", "RMQ_TRACE"}));
  EXPECT_EQ(job.out, (folder / "a").string() + "\n");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a"));
  std::filesystem::remove_all(folder);
}

TEST(RmqrunIo, WorkingFolder) {
  EXPECT_EQ(run(rmqrun({"--wdir", "/usr", "pwd"})).out, "/usr\n");
  for (const char* program : {"true", "./none", "none"}) {
    const Outcome job = run(rmqrun({"--wdir", "/no/such", program}));
    EXPECT_NE(job.err.find("its working folder /no/such cannot be entered: No such file"), std::string::npos)
        << job.err;
  }
}

TEST(RmqrunIo, AFolderIsNoFileOfOptions) {
  for (const char* option : {"-configfile", "--hostfile", "--coll"}) {
    const Outcome job = run(rmqrun({option, "/tmp"}));
    EXPECT_NE(job.err.find("it is a folder"), std::string::npos) << option << ": " << job.err;
  }
}

TEST(RmqrunIo, StdinGoesToRankZeroOnly) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  const Outcome job = run(rmqrun({"-n", "3", "cat"}), text);
  EXPECT_EQ(job.code, 0);
  EXPECT_EQ(job.out, text);
}

// A script is the rank: its second program has no place in the job any more, and alone is a job of its own.
TEST(RmqrunIo, OneProgramToARank) {
  const Outcome two = run(rmqrun({"-n", "2", "sh", "-c", "PROBE fence finalize; PROBE init fence"}));
  EXPECT_NE(two.code, 0);
  EXPECT_NE(two.err.find("a second MPI program in one rank"), std::string::npos) << two.err;
  const Outcome one = run(rmqrun({"sh", "-c", "PROBE fence finalize; PROBE fence where finalize"}));
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("0 of 1"), std::string::npos) << one.out;
}

TEST(RmqrunIo, TagsLabelEveryLine) {
  const Outcome job = run(rmqrun({"-l", "-n", "2", "sh", "-c", "printf 'a\\nb\\nend'; echo oops >&2"}));
  EXPECT_EQ(sorted_lines(job.out), (Words{"[0] a", "[0] b", "[0] end", "[1] a", "[1] b", "[1] end"}));
  EXPECT_EQ(sorted_lines(job.err), (Words{"[0] oops", "[1] oops"}));
}

TEST(RmqrunIo, LinesOfDifferentRanksDoNotMix) {
  // Each rank writes its lines in pieces.
  const Outcome job = run(rmqrun({"-n", "4", "sh", "-c",
                                  "i=0; while [ $i -lt 200 ]; do printf \"<$RMQ_RANK\"; printf \"$RMQ_RANK\"; echo "
                                  "\"$RMQ_RANK>\"; i=$((i+1)); done"}));
  const Words lines = sorted_lines(job.out);
  ASSERT_EQ(lines.size(), 800u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string rank = std::to_string(i / 200);
    ASSERT_EQ(lines[i], "<" + rank + rank + rank + ">");
  }
}

TEST(RmqrunIo, MuchOutputArrivesWhole) {
  const Outcome job = run(rmqrun({"-n", "2", "sh", "-c", "seq 200000"}));
  EXPECT_EQ(std::count(job.out.begin(), job.out.end(), '\n'), 400'000);
  EXPECT_EQ(job.out.size(), 2u * 1'288'895u);
}

TEST(RmqrunIo, ALineWithoutEndLongerThanAnyBufferArrives) {
  const Outcome job = run(rmqrun({"-n", "2", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"}));
  EXPECT_EQ(job.out.size(), 600'000u);
}

TEST(RmqrunIo, SignalsReachAllRanks) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGINT, SIGTERM}) {
    // The shell runs its trap as soon as wait returns.
    const std::string script = "trap 'echo got; kill $!; exit 0' USR1 USR2 INT TERM; sleep 1000 & echo up; wait";
    Process job(rmqrun({"-n", "3", "sh", "-c", script}));
    job.await_lines(3);
    ::kill(job.pid(), signal);
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 0) << signal;
    EXPECT_EQ(sorted_lines(outcome.out), (Words{"got", "got", "got", "up", "up", "up"}));
    job.await_nobody();
  }
}

TEST(RmqrunIo, ADeadlySignalEndsTheJobWithItsCode) {
  Process job(rmqrun({"-n", "3", "PROBE", "say", "up", "hang"}));
  job.await_lines(3);
  ::kill(job.pid(), SIGTERM);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
  EXPECT_EQ(outcome.err, "rmqrun: ended by SIGTERM\n");
  job.await_nobody();
}

// Ranks may take their time, to save what they have.
TEST(RmqrunIo, AJobThatGoesOnAfterASignalIsTold) {
  Process job(rmqrun({"-n", "2", "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"}));
  job.await_lines(2);
  ::kill(job.pid(), SIGTERM);
  ::usleep(3'500'000);
  ::kill(job.pid(), SIGTERM);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
  EXPECT_EQ(outcome.err,
            "rmqrun: the job goes on after SIGTERM; a second signal ends it\n"
            "rmqrun: ended by a second signal (SIGTERM)\n");
  job.await_nobody();
}

// As timeout(1) does, which sends its signal to the process and to its group.
TEST(RmqrunIo, ASignalThatComesTwiceAtOnceIsOne) {
  Process job(rmqrun({"-n", "3", "sh", "-c", "trap 'sleep 0.3; exit 9' TERM; echo up; while :; do sleep 0.01; done"}));
  job.await_lines(3);
  ::kill(job.pid(), SIGTERM);
  ::usleep(20'000);  // or the kernel makes one of them
  ::kill(job.pid(), SIGTERM);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.err.find("second"), std::string::npos) << outcome.err;
  job.await_nobody();
}

// What somebody sends to our whole group reaches the keeper twice; of two that wait to be read the kernel makes one.
TEST(RmqrunIo, ASignalToTheGroupIsNotLostInAKeeperThatIsLate) {
  Process job(rmqrun({"-n", "2", "PROBE", "say", "up", "spin"}));
  job.await_lines(2);
  const auto keepers = job.family("rmqkeeper");
  ASSERT_EQ(keepers.size(), 1u);
  ::kill(keepers[0], SIGSTOP);
  job.await_state(keepers[0], 'T');
  ::kill(keepers[0], SIGINT);
  ::kill(job.pid(), SIGINT);
  job.await_state(job.pid(), 'S');  // the front has passed it on
  ::kill(keepers[0], SIGCONT);
  EXPECT_EQ(job.wait().code, 128 + SIGINT);
  job.await_nobody();
}

TEST(RmqrunIo, RanksStartWithTheUsersSignalMaskAndTwoDescriptorsMore) {
  const std::vector<std::string> script = {"sh", "-c", "grep SigBlk /proc/self/status; ls /proc/self/fd | wc -l"};
  const Words alone = sorted_lines(run(script).out);
  const Words launched = sorted_lines(run(rmqrun(script)).out);
  ASSERT_EQ(alone.size(), 2u);
  ASSERT_EQ(launched.size(), 2u);
  EXPECT_EQ(launched[1], alone[1]);
  EXPECT_EQ(std::stoi(launched[0]), std::stoi(alone[0]) + 2);  // the socket to the server, the flight recorder
}

TEST(RmqrunIo, AStoppedJobGoesOnWhenToldTo) {
  Process job(rmqrun({"-n", "2", "PROBE", "say", "up", "spin"}));
  expect_stops_and_goes_on(job);
}

TEST(RmqrunIo, VersionIsOneLine) {
  const Outcome job = run(rmqrun({"--version"}));
  EXPECT_EQ(job.code, 0);
  EXPECT_EQ(std::count(job.out.begin(), job.out.end(), '\n'), 1);
}

// Whoever is asked sees the question, though it has no end of line, and though another rank prints meanwhile.
TEST(RmqrunIo, AQuestionOfRankZeroIsPassedOnAtOnce) {
  for (const Words& where : {Words{"-n", "2"}, Words{"--launcher", "env AGENT_OF={}", "--hosts", "a:2"}}) {
    const std::string answer = ::testing::TempDir() + "rmq-answer-" + std::to_string(::getpid());
    const std::string wait = "while [ ! -e " + answer + " ]; do sleep 0.01; done; ";
    Words words = where;
    words.insert(words.end(),
                 {"sh", "-c", "[ $RMQ_RANK = 0 ] && printf 'how many? '; " + wait + "echo $RMQ_RANK has heard"});
    Process job(rmqrun(words));
    job.await_text("how many? ");
    std::FILE* const file = std::fopen(answer.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fclose(file);
    const Outcome outcome = job.wait();
    std::filesystem::remove(answer);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("0 has heard\n"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\n1 has heard\n"), std::string::npos) << outcome.out;
  }
}

TEST(RmqrunIo, ALongLineIsOneLineAndHasOneLabel) {
  const Outcome job = run(rmqrun({"-n", "1", "-l", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo"}));
  EXPECT_EQ(job.out, "[0] " + std::string(300000, 'x') + "\n");
}

TEST(RmqrunIo, AFullDiskIsSaidAndToldByTheCodeAndTheRanksGoOn) {
  std::vector<std::string> command = {"sh", "-c", "exec \"$@\" >/dev/full", "sh"};
  for (const std::string& word :
       rmqrun({"-n", "2", "-l", "sh", "-c", "echo lost; sleep 0.2; echo lost, too; echo on >&2"}))
    command.push_back(word);
  const Outcome job = run(command);
  EXPECT_EQ(job.code, 1) << job.err;
  EXPECT_NE(job.err.find("No space left on device"), std::string::npos) << job.err;
  EXPECT_EQ(job.err.find("No space"), job.err.rfind("No space")) << job.err;
  EXPECT_NE(job.err.find("[0] on"), std::string::npos) << job.err;
}

// As nohup starts it.
TEST(RmqrunIo, HangupThatIsIgnoredFromTheBeginningIsNobodys) {
  std::vector<std::string> command = {"sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};
  for (const std::string& word :
       rmqrun({"-n", "2", "sh", "-c", "trap 'echo heard' USR1; echo up; while :; do sleep 0.05; done"}))
    command.push_back(word);
  Process job(command);
  job.await_lines(2);
  for (int i = 0; i < 2; ++i) ::kill(job.pid(), SIGHUP);
  for (const pid_t pid : job.family("rmqkeeper")) ::kill(pid, SIGHUP);
  ::kill(job.pid(), SIGUSR1);
  job.await_lines(4);
  ::kill(job.pid(), SIGTERM);
  EXPECT_EQ(job.wait().code, 128 + SIGTERM);
}

TEST(RmqrunIo, NamesOfProgramsAreNoCommandsToTheTerminal) {
  const std::string folder = ::testing::TempDir() + "rmq-names-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string program = folder + "/a\x1b[31m\xe9";
  std::filesystem::copy_file("/bin/false", program);
  const Outcome job = run(rmqrun({"-n", "1", program}));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(job.code, 1);
  EXPECT_EQ(job.err.find('\x1b'), std::string::npos) << job.err;
  EXPECT_NE(job.err.find("a\\x1b[31m\\xe9"), std::string::npos) << job.err;
}

// Its question is answered in JSON, which is UTF-8.
TEST(RmqrunIo, AProgramWhoseNameIsNoTextCanBeAskedAbout) {
  const std::string folder = ::testing::TempDir() + "rmq-asked-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string program = folder + "/h\xe9";
  std::filesystem::copy_file(probe_path(), program);
  Process job(rmqrun({"-n", "2", program, "say", "up", "watch"}));
  job.await_lines(2);
  const Outcome asked = run({RMQ_BIN_DIR "/rmqps", std::to_string(job.pid())});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_NE(asked.out.find("rank"), std::string::npos) << asked.out;
  ::kill(job.pid(), SIGTERM);
  EXPECT_EQ(job.wait().code, 128 + SIGTERM);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rmq::test
