// SPDX-License-Identifier: BSD-3-Clause
// The rank's side of start-up, without a launcher: frames, variables, the board in memory, and who starts alone.
#include "start/bootstrap.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "start/boot_wire.hpp"
#include "start/bootstrap_env.hpp"
#include "tests/launch/processes.hpp"

namespace rmq::test {
namespace {

using Facts = std::map<std::string, std::string>;

boot::GetEnv lookup(const Facts& facts) {
  return [&facts](const char* name) {
    const auto found = facts.find(name);
    return found == facts.end() ? nullptr : found->second.c_str();
  };
}

Facts good_facts() {
  return {{"RMQ_SERVER", "fd:5"}, {"RMQ_JOB", "0123456789abcdef"},     {"RMQ_RANK", "2"}, {"RMQ_SIZE", "4"},
          {"RMQ_HOSTS", "1"},     {"RMQ_SECRET", std::string(64, 'a')}};
}

TEST(BootstrapEnv, TellsARankItsPlace) {
  const Facts facts = good_facts();
  const auto rank = boot::read_launched_rank(lookup(facts));
  ASSERT_TRUE(rank) << rank.error().what;
  EXPECT_EQ(rank->server_fd, 5);
  EXPECT_EQ(rank->job.rank, 2);
  EXPECT_EQ(rank->hosts, 1);
  EXPECT_EQ(rank->job.host_of_rank, Hosts::blocks(4, 4));
  EXPECT_EQ(rank->job.host_rank, 2);
  EXPECT_EQ(rank->job.host_size, 4);
  EXPECT_EQ(rank->job.machine_size, 4);
  EXPECT_EQ(rank->job.machine_cpus, 0) << "nobody has said";
  EXPECT_EQ(rank->job.universe_size, 4);
}

TEST(BootstrapEnv, OfSeveralHostsTheRanksPlacesAreToBeFetched) {
  Facts facts = good_facts();
  facts["RMQ_HOSTS"] = "2";
  facts["RMQ_MACHINE_SIZE"] = "3";
  facts["RMQ_MACHINE_CPUS"] = "1";
  const auto rank = boot::read_launched_rank(lookup(facts));
  ASSERT_TRUE(rank) << rank.error().what;
  EXPECT_EQ(rank->hosts, 2);
  EXPECT_EQ(rank->job.machine_size, 3);
  EXPECT_EQ(rank->job.machine_cpus, 1);
}

TEST(BootstrapEnv, NamesTheVariableThatIsWrong) {
  const std::pair<const char*, const char*> damages[] = {
      {"RMQ_SERVER", "tcp:x"},     {"RMQ_RANK", "4"},        {"RMQ_RANK", "-1"},         {"RMQ_SIZE", "0"},
      {"RMQ_SIZE", "99999999999"}, {"RMQ_HOSTS", "0"},       {"RMQ_HOSTS", "5"},         {"RMQ_HOSTS", "a"},
      {"RMQ_JOB", "x/../../"},     {"RMQ_SECRET", "short"},  {"RMQ_UNIVERSE_SIZE", "x"}, {"RMQ_MACHINE_SIZE", "0"},
      {"RMQ_MACHINE_CPUS", "0"},   {"RMQ_MACHINE_SIZE", "5"}};
  for (const auto& [name, value] : damages) {
    Facts facts = good_facts();
    facts[name] = value;
    const auto rank = boot::read_launched_rank(lookup(facts));
    ASSERT_FALSE(rank) << name << "=" << value;
    EXPECT_NE(rank.error().what.find(name), std::string::npos) << rank.error().what;
    EXPECT_NE(rank.error().what.find("rmqrun"), std::string::npos) << rank.error().what;
  }
}

TEST(BootstrapEnv, HostsSurviveTheirText) {
  for (const std::vector<int>& hosts : {std::vector<int>{0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {1, 0, 2, 2, 2}})
    EXPECT_EQ(boot::parse_hosts(boot::format_hosts(Hosts(hosts)), static_cast<int>(hosts.size())), Hosts(hosts));
}

TEST(BootstrapEnv, TextsThatPlaceNotEachRankAreRefused) {
  for (const char* text :
       {"", "a", "0", "0*5", "0*2", "0*2,2*2", "0*2,", "1*4", "0*2~~", "~", "0*0,0*4", "0*-1", "0*2,2*1~"})
    EXPECT_FALSE(boot::parse_hosts(text, 4)) << text;
}

// What a rank of a very large job fetches, in several values where one cannot hold it.
TEST(BootstrapEnv, TheTableOfHostsIsFetchedAtAnySize) {
  constexpr int kRanks = 65536;
  std::vector<int> irregular, dealt;
  for (int r = 0; r < kRanks; ++r) {
    irregular.push_back(r < 100 ? r : static_cast<int>(std::int64_t{r} * r % 97));
    dealt.push_back(r % 1024);
  }
  for (const auto& [hosts, parts] :
       {std::pair{Hosts(irregular), 4}, {Hosts(dealt), 1}, {Hosts::blocks(kRanks, 4), 3}}) {
    const auto table = boot::host_table(hosts);
    EXPECT_GE(static_cast<int>(table.size()), parts == 1 ? 1 : 2);
    EXPECT_LE(static_cast<int>(table.size()), parts == 1 ? 1 : 32);
    auto ranks = local_bootstraps(2);
    for (std::size_t part = 0; part < table.size(); ++part)
      ASSERT_TRUE(ranks[0]->put(boot::host_table_key(part), table[part]));
    std::string all;
    for (const std::string& part : table) all += part;
    EXPECT_EQ(boot::parse_hosts(all.substr(all.find(';') + 1), kRanks), hosts);
    EXPECT_FALSE(boot::fetch_hosts(*ranks[1]));  // of a job of another size
  }
  EXPECT_EQ(Hosts(dealt).runs().size(), 1024u);  // and not a word for each rank
}

TEST(BootstrapEnv, LocalRanksFetchWhatOneHasPut) {
  const Hosts hosts(std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1});
  auto ranks = local_bootstraps(8);
  for (std::size_t part = 0; const std::string& text : boot::host_table(hosts))
    ASSERT_TRUE(ranks[0]->put(boot::host_table_key(part++), text));
  for (const auto& rank : ranks) EXPECT_EQ(boot::fetch_hosts(*rank), hosts);
}

TEST(BootstrapEnv, ForeignLaunchersAreNamedWithARemedy) {
  const std::pair<Facts, const char*> foreign[] = {
      {{{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, "MPICH"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}, "Open MPI"},
      {{{"PMIX_RANK", "3"}}, "PMIx"},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, "srun"},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}}, "srun"},
  };
  for (const auto& [facts, name] : foreign) {
    const auto message = boot::foreign_launcher(lookup(facts));
    ASSERT_TRUE(message) << name;
    EXPECT_NE(message->find(name), std::string::npos) << *message;
    EXPECT_NE(message->find("rmqboot"), std::string::npos) << *message;
  }
}

TEST(BootstrapEnv, ProcessesOfSlurmAreToldWhatWorksThere) {
  for (const Facts& facts : {Facts{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                             Facts{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"SLURM_PROCID", "1"}}}) {
    const auto message = boot::foreign_launcher(lookup(facts));
    ASSERT_TRUE(message);
    EXPECT_NE(message->find("'srun --mpi=pmi2 -n 2 ./prog'"), std::string::npos) << *message;
  }
}

TEST(BootstrapEnv, OneProcessOfAForeignLauncherIsASingleton) {
  for (const Facts& facts : {Facts{}, Facts{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
                             Facts{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}},
                             Facts{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}},
                             Facts{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"ENVIRONMENT", "BATCH"}}})
    EXPECT_FALSE(boot::foreign_launcher(lookup(facts)));
}

TEST(BootWire, FramesSurviveAnyChopping) {
  std::mt19937 random(7);
  std::string stream;
  for (int i = 0; i < 200; ++i)
    stream += boot::encode_put("key" + std::to_string(i), std::string(random() % 3000, 'v'));
  for (int round = 0; round < 20; ++round) {
    boot::FrameReader reader;
    int frames = 0;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 5000, stream.size() - at);
      stream.copy(reader.reserve(piece), piece, at);
      reader.commit(piece);
      at += piece;
      for (auto frame = reader.next(); frame && *frame; frame = reader.next()) {
        boot::BodyReader body((*frame)->body);
        EXPECT_EQ(body.short_text(), "key" + std::to_string(frames++));
      }
    }
    EXPECT_EQ(frames, 200);
  }
}

TEST(BootWire, RandomBytesAreRefusedOrIncomplete) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    boot::FrameReader reader;
    const std::size_t size = random() % 200;
    char* at = reader.reserve(size);
    for (std::size_t i = 0; i < size; ++i) at[i] = static_cast<char>(random());
    reader.commit(size);
    while (true) {
      const auto frame = reader.next();
      if (!frame || !*frame) break;
      boot::BodyReader body((*frame)->body);
      body.short_text();
      body.u32();
      body.rest();
    }
  }
}

TEST(LocalBootstraps, RanksExchangeAndMeet) {
  constexpr int size = 8;
  auto ranks = local_bootstraps(Hosts::blocks(size, 4));
  std::vector<std::thread> threads;
  for (auto& rank : ranks)
    threads.emplace_back([&rank] {
      const int me = rank->job().rank;
      for (int round = 0; round < 50; ++round) {
        const auto key = [&](int r) { return std::to_string(round) + ":" + std::to_string(r); };
        EXPECT_TRUE(rank->put(key(me), std::to_string(me)));
        EXPECT_EQ(rank->get(key((me + 1) % size)), std::to_string((me + 1) % size));
        EXPECT_TRUE(rank->fence());
      }
      EXPECT_TRUE(rank->finalize());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ranks[5]->job().host_rank, 1);
  EXPECT_EQ(ranks[5]->job().host_size, 4);
  EXPECT_EQ(ranks[5]->job().secret, ranks[0]->job().secret);
}

TEST(LocalBootstraps, AnAbortWakesWhoeverWaits) {
  auto ranks = local_bootstraps(3);
  std::thread waits_for_key([&] { EXPECT_EQ(ranks[0]->get("never").error().code, Errc::peer_lost); });
  std::thread waits_for_fence([&] { EXPECT_EQ(ranks[1]->fence().error().code, Errc::peer_lost); });
  ranks[2]->abort(3, "enough", Blame::itself);
  waits_for_key.join();
  waits_for_fence.join();
  EXPECT_NE(ranks[2]->put("k", "v").error().what.find("enough"), std::string::npos);
}

TEST(LocalBootstraps, MistakesAreErrors) {
  auto ranks = local_bootstraps(1);
  EXPECT_TRUE(ranks[0]->put("k", "v"));
  EXPECT_FALSE(ranks[0]->put("k", "w"));
  EXPECT_FALSE(ranks[0]->put("", "v"));
  EXPECT_FALSE(ranks[0]->put(std::string(256, 'k'), "v"));
  EXPECT_FALSE(ranks[0]->put("big", std::string(max_boot_value + 1, 'v')));
  EXPECT_FALSE(ranks[0]->get("nobody puts this"));
}

TEST(Singleton, RunsAlone) {
  const Outcome alone = run({probe_path(), "where", "put", "k", "v", "get", "k", "print", "fence", "finalize"});
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.out, fmt::format("0 of 1 host 0: 0 of 1 app 0 universe {}\nv\n", slots_of_one()));
  EXPECT_EQ(run({probe_path(), "abort", "9"}).code, 9);
}

TEST(Singleton, RefusesToBeOneOfSeveral) {
  const Outcome foreign = run({probe_path(), "init"}, "", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(foreign.code, 98);
  EXPECT_NE(foreign.err.find("rmqboot"), std::string::npos) << foreign.err;
}

TEST(ConnectionServer, RefusesWhatBreaksTheRules) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"put", "k", "a", "put", "k", "b", "get", "k"}, "published twice"},
      {{"finalize", "get", "k"}, "after finalize"},
  };
  for (const auto& [words, said] : cases) {
    std::vector<std::string> command = {"-n", "1", "PROBE"};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome job = run(rmqrun(command));
    EXPECT_NE(job.err.find(said), std::string::npos) << job.err;
  }
}

TEST(ConnectionServer, DropsARankThatSendsGarbage) {
  const Outcome job = run(rmqrun(
      {"-n", "2", "bash", "-c",
       "if [ $RMQ_RANK = 1 ]; then head -c 4096 /dev/zero | tr '\\0' '\\377' >&${RMQ_SERVER#fd:}; fi; sleep 1000"}));
  EXPECT_EQ(job.code, 1);
  EXPECT_NE(job.err.find("rank 1"), std::string::npos) << job.err;
}

TEST(ConnectionServer, ALostSocketIsExplained) {
  const Outcome job = run(rmqrun({"-n", "1", "bash", "-c", "eval \"exec ${RMQ_SERVER#fd:}>&-\"; PROBE init"}));
  EXPECT_EQ(job.code, 98);
  EXPECT_NE(job.err.find("wrapper"), std::string::npos) << job.err;
}

// Answers that nobody waits for come while it is asked for other things.
TEST(ConnectionServer, AnswersALookUpWhenItCan) {
  const Outcome job = run(rmqrun({"-n", "3", "PROBE", "peek", "k%n", "fence", "put", "k%r", "v%r", "fence", "get", "k0",
                                  "look", "k%n", "print", "look", "k0", "print", "finalize"}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(sorted_lines(job.out), (std::vector<std::string>{"v0", "v0", "v0", "v0", "v1", "v2"})) << job.err;
}

TEST(ConnectionServer, HandsTheSecretToWhoeverInitialisesMpiAndNobodyAfter) {
  const char* const script =
      "PROBE env RMQ_SECRET | tr -d '0-9a-f' | wc -c\n"  // a wrapper's child has it: a line end
      "PROBE init env RMQ_SECRET finalize";
  const Outcome job = run(rmqrun({"-n", "1", "bash", "-c", script}));
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out, "1\n(unset)\n");
  const Outcome nested = run(rmqrun({"-n", "1", "PROBE", "init", "run", "PROBE init", "finalize"}));
  EXPECT_NE(nested.err.find("was started from within a rank"), std::string::npos) << nested.err;
}

}  // namespace
}  // namespace rmq::test
