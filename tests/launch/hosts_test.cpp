// SPDX-License-Identifier: BSD-3-Clause
// Jobs on several hosts, each with an agent: here processes of one machine, which the launcher cannot know.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <thread>

#include "tests/launch/family.hpp"
#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kLauncher = "env AGENT_OF={}";

Words on_hosts(const std::string& hosts, Words more) {
  Words words = {"--launcher", kLauncher, "--hosts", hosts};
  words.insert(words.end(), more.begin(), more.end());
  return rmqrun(words);
}

TEST(Hosts, RanksMeetOverAgents) {
  for (const char* fan_out : {"32", "1", "2"}) {
    Words expected;
    for (int rank = 0; rank < 20; ++rank) expected.push_back("v" + std::to_string(rank));
    std::sort(expected.begin(), expected.end());
    const Outcome job =
        run(on_hosts("a:3,b:5,c:1,d:4,e:2,f:4,g:1", {"--fan-out", fan_out, "PROBE", "put", "k%r", "v%r", "get", "k%n",
                                                     "fence", "fence", "print", "finalize"}));
    EXPECT_EQ(job.code, 0) << job.err;
    EXPECT_EQ(job.err, "");
    EXPECT_EQ(sorted_lines(job.out), expected);
  }
}

TEST(Hosts, EachRankKnowsWhereItIs) {
  const Outcome job = run(on_hosts("a:2,b:1", {"-n", "3", "sh", "-c", "PROBE where finalize; echo $RMQ_HOST_NAME"}));
  EXPECT_EQ(sorted_lines(job.out),
            (Words{"0 of 3 host 0: 0 of 2 app 0 universe 3", "1 of 3 host 0: 1 of 2 app 0 universe 3",
                   "2 of 3 host 1: 0 of 1 app 0 universe 3", "a", "a", "b"}))
      << job.err;
  const Outcome two = run(
      on_hosts("a:2,b:2", {"--map-by", "node", "-n", "1", "true", ":", "-n", "3", "PROBE", "env", "RMQ_HOST_NAME"}));
  EXPECT_EQ(sorted_lines(two.out), (Words{"a", "b", "b"})) << two.err;
}

// What PBS leaves for its jobs, a name for each rank; and hostfiles that other launchers find by the environment,
// before that.
TEST(Hosts, ThoseThatTheEnvironmentNamesAreTaken) {
  const std::string file = ::testing::TempDir() + "rmq-pbs-nodes-" + std::to_string(::getpid());
  {
    std::FILE* nodes = std::fopen(file.c_str(), "w");
    std::fputs("a\na\nb\n", nodes);
    std::fclose(nodes);
  }
  const Outcome job = run(rmqrun({"--launcher", kLauncher, "sh", "-c", "PROBE fence finalize; echo $RMQ_HOST_NAME"}),
                          "", {{"PBS_NODEFILE", file}});
  EXPECT_EQ(sorted_lines(job.out), (Words{"a", "a", "b"})) << job.err;
  for (const char* name : {"HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile"}) {
    const Outcome other =
        run(rmqrun({"--launcher", kLauncher, "sh", "-c", "PROBE fence finalize; echo $RMQ_HOST_NAME"}), "",
            {{name, file}, {"PBS_NODEFILE", "/no/such/file"}});
    EXPECT_EQ(sorted_lines(other.out), (Words{"a", "a", "b"})) << other.err;
  }
  ::unlink(file.c_str());
}

// This host needs no agent.
TEST(Hosts, TheLaunchersOwnTakesPart) {
  Process job(
      on_hosts("localhost:2,a:2", {"sh", "-c", "PROBE put k%r v%r get k%n fence print finalize; echo $RMQ_HOST_NAME"}));
  const Outcome outcome = job.wait();
  EXPECT_EQ(sorted_lines(outcome.out), (Words{"a", "a", "localhost", "localhost", "v0", "v1", "v2", "v3"}))
      << outcome.err;
}

TEST(Hosts, RanksHaveTheLaunchersEnvironmentAndFolder) {
  const Outcome job = run(on_hosts("a,b", {"-x", "OF_RANKS=yes", "sh", "-c", "echo $OF_RANKS $OF_LAUNCHER; pwd"}), "",
                          {{"OF_LAUNCHER", "too"}});
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(sorted_lines(job.out), (Words{here, here, "yes too", "yes too"})) << job.err;
}

TEST(Hosts, NothingSecretIsInACommandLineOrAnAgentsEnvironment) {
  Process job(on_hosts("a,b", {"PROBE", "init", "say", "up", "hang"}));
  job.await_lines(2);
  std::set<std::string> commands;
  for (const pid_t pid : job.family()) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string command = read_all(folder + "/cmdline");
    if (command.find("--agent") == std::string::npos) continue;
    commands.insert(command);
    EXPECT_EQ(read_all(folder + "/environ").find("RMQ_SECRET"), std::string::npos);
  }
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands.begin()->substr(commands.begin()->find('\0')), std::string("\0--agent\0", 9));
}

TEST(Hosts, OutputIsWholeAndLabelled) {
  const Outcome job = run(on_hosts("a:2,b:1", {"-l", "--fan-out", "1", "sh", "-c", "echo out; echo err >&2"}));
  EXPECT_EQ(sorted_lines(job.out), (Words{"[0] out", "[1] out", "[2] out"}));
  EXPECT_EQ(sorted_lines(job.err), (Words{"[0] err", "[1] err", "[2] err"}));
  const Outcome much = run(on_hosts("a:2,b:2", {"--fan-out", "1", "seq", "200000"}));
  EXPECT_EQ(std::count(much.out.begin(), much.out.end(), '\n'), 800000);
  EXPECT_EQ(much.out.size(), 4 * 1288895u);
}

// Short ones, and some as long as are never passed on in part: of each rank's own digit, 2,000 of them.
TEST(Hosts, LinesOfSeveralHostsDoNotMix) {
  const std::string print =
      "awk -v r=$RMQ_RANK 'BEGIN { long = r; while (length(long) < 60000) long = long long; "
      "for (i = 0; i < 2000; i++) print substr(long, 1, i % 500 ? 1 + i * 7 % 300 : 60000) }'";
  for (const Words& how : {Words{"--fan-out", "1"}, Words{"-l", "--fan-out", "1"}, Words{"-l"}, Words{}}) {
    Words words = how;
    words.insert(words.end(), {"sh", "-c", print});
    const Outcome job = run(on_hosts("a:1,b:2,c:1", words));
    EXPECT_EQ(job.code, 0) << job.err;
    std::map<char, int> lines;
    for (std::string_view line : sorted_lines(job.out)) {
      ASSERT_FALSE(line.empty());
      if (how.size() % 2 == 1) {
        ASSERT_TRUE(line.starts_with("[") && line.substr(2, 2) == "] ") << line.substr(0, 80);
        ASSERT_EQ(line[1], line[4]);
        line.remove_prefix(4);
      }
      ++lines[line[0]];
      ASSERT_EQ(line.find_first_not_of(line[0]), std::string_view::npos) << line.substr(0, 80);
    }
    EXPECT_EQ(lines, (std::map<char, int>{{'0', 2000}, {'1', 2000}, {'2', 2000}, {'3', 2000}}));
  }
}

// What has no end of line is passed on, with all that others print behind it.
TEST(Hosts, ALineWithoutEndIsPassedOnAtTheEnd) {
  const Outcome job = run(on_hosts("a:1,b:1,c:1", {"sh", "-c", "printf $RMQ_RANK"}));
  EXPECT_EQ(job.code, 0) << job.err;
  std::string out = job.out;
  std::sort(out.begin(), out.end());
  EXPECT_EQ(out, "012");
}

TEST(Hosts, InputGoesToRank0WhereverItIs) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "\n";
  const Outcome job = run(on_hosts("a:1,b:2", {"PROBE", "cat"}), text);
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out, text);
  EXPECT_EQ(run(on_hosts("a:1,b:1", {"true"}), text).code, 0);  // nobody reads it
}

struct HostFate {
  const char* name;
  Words words;  // what the rank does after MPI_Init; the others wait for ever
  int code;
  const char* said;  // part of the message
};

class HostsDeath : public ::testing::TestWithParam<HostFate> {};

TEST_P(HostsDeath, EndsTheOthersAndIsNamed) {
  for (const char* fan_out : {"32", "1"}) {
    Words command = {"--fan-out", fan_out, "-n", "3", "PROBE", "init", "hang", ":", "-n", "1", "PROBE", "init"};
    command.insert(command.end(), GetParam().words.begin(), GetParam().words.end());
    command.insert(command.end(), {":", "-n", "1", "PROBE", "init", "watch", ":", "-n", "1", "PROBE", "init", "spin"});
    Process job(on_hosts("a:2,b:2,c:2", command));
    const Outcome outcome = job.wait();
    job.await_nobody();
    EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 3 ("), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(GetParam().said), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, HostsDeath,
                         ::testing::Values(HostFate{"Sigkill", {"kill", "9"}, 137, "SIGKILL"},
                                           HostFate{"ExitCode", {"exit", "42"}, 42, "code 42"},
                                           HostFate{"NoFinalize", {"exit", "0"}, 1, "MPI_Finalize"},
                                           HostFate{"Abort", {"abort", "7"}, 7, "as told"}),
                         [](const auto& death) { return std::string(death.param.name); });

TEST(Hosts, ARankThatLeavesWhileOthersWaitForItIsNamed) {
  for (const char* hosts : {"a:3", "a:2,b:1", "a:1,b:2"}) {
    const Outcome job = run(on_hosts(hosts, {"-n", "1", "PROBE", "fence", "finalize", ":", "-n", "1", "PROBE",
                                             "finalize", ":", "-n", "1", "PROBE", "fence", "finalize"}));
    EXPECT_EQ(job.code, 1);
    EXPECT_NE(job.err.find("rank 1 ("), std::string::npos) << job.err;
    EXPECT_NE(job.err.find("it left while other ranks wait for it"), std::string::npos) << job.err;
  }
}

// Ranks that no signal but SIGKILL reaches and that never look at their server.
const Words kStubborn = {"sh", "-c", "trap '' TERM INT HUP; setsid sleep 1000 & PROBE say up spin; sleep 1000"};

std::vector<pid_t> agents_of(const Process& job, const char* name) {
  std::vector<pid_t> out;
  for (const pid_t pid : job.family(name))
    if (read_all("/proc/" + std::to_string(pid) + "/cmdline").find("--agent") != std::string::npos) out.push_back(pid);
  return out;
}

TEST(HostsKill, OfALauncherLeavesNothingOnAnyHost) {
  for (const char* who : {"front", "keeper"}) {
    for (const char* fan_out : {"32", "1"}) {
      Words words = {"--fan-out", fan_out};
      words.insert(words.end(), kStubborn.begin(), kStubborn.end());
      Process job(on_hosts("a:1,b:2,c:1", words));
      job.await_lines(4);
      const auto agents = agents_of(job, "rmqkeeper");
      EXPECT_EQ(agents.size(), 3u);
      if (std::string(who) == "front") {
        ::kill(job.pid(), SIGKILL);
      } else {
        for (const pid_t pid : job.family("rmqkeeper"))
          if (std::ranges::find(agents, pid) == agents.end()) ::kill(pid, SIGKILL);
      }
      EXPECT_EQ(job.wait().code, 137);
      job.await_nobody();
    }
  }
}

TEST(HostsKill, OfAnAgentEndsTheJobAndNamesItsHost) {
  for (const char* part : {"rmqrun", "rmqkeeper"}) {
    Process job(on_hosts("a:1,b:2", kStubborn));
    job.await_lines(3);
    for (const pid_t pid : agents_of(job, part))
      if (read_all("/proc/" + std::to_string(pid) + "/environ").find("AGENT_OF=b") != std::string::npos)
        ::kill(pid, SIGKILL);
    const Outcome outcome = job.wait();
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.err.find("host b is lost"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("ranks 1 and 2"), std::string::npos) << outcome.err;
    job.await_nobody();
  }
}

TEST(HostsKill, OfAnAgentInTheMiddleOfTheTreeEndsTheJob) {
  Process job(on_hosts("a:1,b:1,c:1", {"--fan-out", "1", "PROBE", "init", "say", "up", "hang"}));
  job.await_lines(3);
  for (const pid_t pid : agents_of(job, "rmqkeeper"))
    if (read_all("/proc/" + std::to_string(pid) + "/environ").find("AGENT_OF=b") != std::string::npos)
      ::kill(pid, SIGKILL);
  const Outcome outcome = job.wait();
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("host b is lost"), std::string::npos) << outcome.err;
  job.await_nobody();
}

TEST(HostsKill, AHostThatSaysNothingIsLost) {
  Process job(on_hosts("a:1,b:1", {"--host-timeout", "2", "PROBE", "init", "say", "up", "hang"}));
  job.await_lines(2);
  std::vector<pid_t> stopped;
  for (const pid_t pid : job.family())
    if (read_all("/proc/" + std::to_string(pid) + "/environ").find("AGENT_OF=b") != std::string::npos)
      stopped.push_back(pid);
  for (const pid_t pid : stopped) ::kill(pid, SIGSTOP);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("host b is lost: it has been silent for"), std::string::npos) << outcome.err;
  for (const pid_t pid : stopped) ::kill(pid, SIGCONT);
  job.await_nobody();
}

// What was not heard while the launcher's side was stopped says nothing of the hosts.
TEST(Hosts, AJobThatWasSuspendedForLongerGoesOn) {
  Process job(on_hosts("a:1,b:1", {"--host-timeout", "2", "--fan-out", "1", "sh", "-c",
                                   "trap 'exit 0' USR1; echo up; while :; do sleep 0.05; done"}));
  job.await_lines(2);
  const std::vector<pid_t> all = job.family();
  for (const pid_t pid : all) ::kill(pid, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  for (const pid_t pid : all) ::kill(pid, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ::kill(job.pid(), SIGUSR1);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

// As their own SIGPIPE does on one host. They print until then.
TEST(Hosts, RanksEndWhenNobodyReadsTheirOutput) {
  for (const char* fan_out : {"32", "1"})
    for (const char* to : {"", " >&2"}) {
      Words command = {"bash", "-c", "set -o pipefail; exec 3>&1; \"$@\" 2>&1 >&3 3>&- | head -1"};
      if (*to == '\0') command[2] = "set -o pipefail; \"$@\" | head -1";
      command.push_back("bash");
      for (const std::string& word : on_hosts(
               "a:1,b:1,c:1", {"--fan-out", fan_out, "sh", "-c", std::string("while echo x") + to + "; do :; done"}))
        command.push_back(word);
      const Outcome outcome = run(command);
      EXPECT_EQ(outcome.code, 128 + SIGPIPE) << to << outcome.err;
    }
}

TEST(Hosts, AHostThatHasNotAnsweredIsNamedToWhoAsks) {
  Process job(rmqrun({"--launcher", "sh -c $ANSWER", "--hosts", "localhost,a", "PROBE", "init", "say", "up", "watch"}),
              "", {{"ANSWER", "sleep 1000"}});
  job.await_lines(1);
  ::kill(job.pid(), SIGQUIT);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ::kill(job.pid(), SIGTERM);
  const Outcome outcome = job.wait();
  EXPECT_NE(outcome.err.find("its host has not answered yet"), std::string::npos) << outcome.err;
  job.await_nobody();
}

TEST(Hosts, FewDescriptorsAreEnoughForFewRanks) {
  Words command = {"sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"};
  for (const std::string& word : on_hosts("a:1,b:1", {"echo", "up"})) command.push_back(word);
  const Outcome few = run(command);
  EXPECT_EQ(few.code, 0) << few.err;
  command[2] = "ulimit -n 48; exec \"$@\"";
  command.insert(command.end() - 2, {"-n", "9"});
  const Outcome many = run(command);
  EXPECT_EQ(many.code, 127);
  EXPECT_NE(many.err.find("but the hard limit is 48"), std::string::npos) << many.err;
}

TEST(Hosts, ASignalReachesAllRanks) {
  Process job(on_hosts("a:1,b:2", {"--fan-out", "1", "sh", "-c",
                                   "trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.05; done"}));
  job.await_lines(3);
  ::kill(job.pid(), SIGUSR1);
  const Outcome outcome = job.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out), (Words{"got", "got", "got", "up", "up", "up"}));
}

TEST(Hosts, AStoppedJobGoesOnWhenToldTo) {
  Process job(on_hosts("a:1,b:1", {"--fan-out", "1", "PROBE", "say", "up", "spin"}));
  expect_stops_and_goes_on(job);
}

// Neither the front nor the keeper waits for a host that does not answer.
TEST(Hosts, ASignalEndsAJobThatHasNotStartedEverywhere) {
  for (const char* hosts : {"localhost,a", "a"}) {
    Process job(rmqrun({"--launcher", "sh -c $ANSWER", "--hosts", hosts, "PROBE", "say", "up", "spin"}), "",
                {{"ANSWER", "sleep 1000"}});
    while (job.family("sleep").empty()) {
    }
    ::kill(job.pid(), SIGTERM);
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.code, 128 + SIGTERM);
    EXPECT_EQ(outcome.err, "rmqrun: ended by SIGTERM\n");
    job.await_nobody();
  }
}

// tests/hangs has what is told of MPI programs.
TEST(Hosts, SigquitEndsNobody) {
  Process job(on_hosts("a:1,b:1", {"PROBE", "init", "say", "up", "watch"}));
  job.await_lines(2);
  ::kill(job.pid(), SIGQUIT);
  ::kill(job.pid(), SIGTERM);
  EXPECT_EQ(job.wait().code, 128 + SIGTERM);
}

TEST(Hosts, WhatCannotBeStartedIsNamed) {
  const Outcome no_program = run(on_hosts("a:1,b:1", {"./no-such-program"}));
  EXPECT_EQ(no_program.code, 127);
  EXPECT_NE(no_program.err.find("rank "), std::string::npos) << no_program.err;
  EXPECT_NE(no_program.err.find("no-such-program"), std::string::npos) << no_program.err;

  const Outcome no_agent = run(rmqrun({"--launcher", "false", "--hosts", "a", "true"}));
  EXPECT_EQ(no_agent.code, 127);
  EXPECT_NE(no_agent.err.find("host a is lost"), std::string::npos) << no_agent.err;
  EXPECT_NE(no_agent.err.find("'false', which was to run its agent, has left with code 1"), std::string::npos)
      << no_agent.err;

  const Outcome no_launcher = run(rmqrun({"--launcher", "no-such-launcher", "--hosts", "a,b", "true"}));
  EXPECT_EQ(no_launcher.code, 127);
  EXPECT_NE(no_launcher.err.find("host a cannot be reached: no-such-launcher"), std::string::npos) << no_launcher.err;

  const Outcome noise = run(rmqrun({"--launcher", "echo", "--hosts", "a", "true"}));
  EXPECT_EQ(noise.code, 127);
}

// What a login shell prints comes before the agent's first word.
TEST(Hosts, NoiseBeforeTheAgentIsReadOver) {
  const std::string folder = ::testing::TempDir();
  const std::string shell = folder + "rmq-noisy-shell";
  {
    std::FILE* file = std::fopen(shell.c_str(), "w");
    std::fputs("#!/bin/sh\necho Welcome; seq 1000\nshift\nexec \"$@\"\n", file);
    std::fclose(file);
    ASSERT_EQ(::chmod(shell.c_str(), 0700), 0);
  }
  const Outcome job = run(rmqrun({"--launcher", shell, "--hosts", "a,b", "PROBE", "fence", "say", "x", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out), (Words{"0 x", "1 x"}));
  ::unlink(shell.c_str());
}

// What the user has set holds everywhere; what the launcher's host has for itself does not.
TEST(Hosts, VariablesThatAreNamedReachOtherHosts) {
  const Words job = {"--launcher", "env AGENT_OF={} TMPDIR=/agents SSH_TTY=theirs", "--hosts", "a:1"};
  const Words script = {"sh", "-c", "echo $TMPDIR $SSH_TTY"};
  const auto said = [&](const Words& options) {
    Words words = job;
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), script.begin(), script.end());
    return run(rmqrun(words), "", {{"TMPDIR", "/launchers"}}).out;
  };
  EXPECT_EQ(said({}), "/agents theirs\n");
  EXPECT_EQ(said({"-x", "TMPDIR=/wanted"}), "/wanted theirs\n");
  EXPECT_EQ(said({"-env", "SSH_TTY", "mine"}), "/agents mine\n");
}

TEST(Hosts, OwnAddressesNeedNoAgent) {
  for (const char* hosts : {"localhost:2", "127.0.0.1:2", "127.0.0.2:1,127.0.0.1:1", "[::1]:1,localhost:1"}) {
    const Outcome job =
        run(rmqrun({"--launcher", "false", "--hosts", hosts, "PROBE", "fence", "say", "x", "finalize"}));
    EXPECT_EQ(job.code, 0) << hosts << ": " << job.err;
    EXPECT_EQ(sorted_lines(job.out), (Words{"0 x", "1 x"}));
  }
}

}  // namespace
}  // namespace rmq::test
