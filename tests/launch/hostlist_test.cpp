// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts as users and batch systems write them, and which rank goes where.
#include "tools/launch/hostlist.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "start/bootstrap_env.hpp"
#include "tools/launch/agents.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/plan.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {
namespace {

std::string text_of(const Result<HostList>& list) {
  if (!list) return "error: " + list.error().what;
  std::string out;
  for (const HostSlots& host : *list) out += (out.empty() ? "" : " ") + host.name + ":" + std::to_string(host.slots);
  return out;
}

class HostFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "rmq-hosts-XXXXXX";
    const UniqueFd fd(::mkstemp(name.data()));
    ASSERT_TRUE(fd.is_open());
    path_ = name;
  }
  ~HostFile() override { std::filesystem::remove(path_); }
  Result<HostList> of_file(const std::string& path) { return read_host_file(path, notes_); }
  const std::string& holds(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string path_;
  std::vector<std::string> notes_;
};

TEST(HostList, IsReadFromTheCommandLine) {
  EXPECT_EQ(text_of(parse_host_list("a:2,b,c.d-e:10")), "a:2 b:1 c.d-e:10");
  EXPECT_EQ(text_of(parse_host_list("a,b,a,a:3")), "a:5 b:1");
  EXPECT_EQ(text_of(parse_host_list("fe80::1,10.0.0.1:2")), "fe80::1:1 10.0.0.1:2");
  EXPECT_EQ(text_of(parse_host_list("n[1-3,07]x:2,[::1]")), "n1x:2 n2x:2 n3x:2 n07x:2 ::1:1");
  EXPECT_EQ(text_of(parse_host_list("[fd00::1]:2,[fe80::1%eth0]")), "fd00::1:2 fe80::1%eth0:1");
  EXPECT_EQ(text_of(parse_host_list("n[20261126-20261128]")), "n20261126:1 n20261127:1 n20261128:1");
  EXPECT_EQ(text_of(parse_host_list("n[0009-0011],[1-2]x:3")), "n0009:1 n0010:1 n0011:1 1x:3 2x:3");
  EXPECT_EQ(text_of(parse_host_list("a:1048576,a:1048576")), "a:1048576");
  for (const char* wrong : {"",
                            ",",
                            "a,,b",
                            "a:",
                            "a:0",
                            "a:x",
                            "a:99999999",
                            "-o",
                            "a b",
                            "a;b",
                            "$(x)",
                            "n[1-",
                            "n[]",
                            "n[3-1]:2",
                            "n[1-3]:0",
                            "-[1-2]",
                            "[fd00::1]:0",
                            "[fd00::1",
                            "[fd00::1]x",
                            "n[1-9999999999999999999]",
                            "n[1-99999999]"})
    EXPECT_TRUE(text_of(parse_host_list(wrong)).starts_with("error")) << wrong;
}

TEST_F(HostFile, IsReadInEveryUsualForm) {
  EXPECT_EQ(text_of(of_file(holds("# all\n\na:2\n  b slots=3 max_slots=4 # the big one\nc 2\nd ib0=x\na\n"))),
            "a:3 b:3 c:2 d:1");
  EXPECT_EQ(text_of(of_file(holds("\xef\xbb\xbf"
                                  "a:2\r\nb\r\n"))),
            "a:2 b:1");                                                     // of another system's editor
  EXPECT_EQ(text_of(of_file(holds("n1\nn1\nn2\nn2\nn2\n"))), "n1:2 n2:3");  // PBS_NODEFILE
  EXPECT_NE(text_of(of_file(holds("a\nb slots=x\n"))).find("line 2"), std::string::npos);
  EXPECT_NE(text_of(of_file(holds("a:0\n"))).find("line 1"), std::string::npos);
  EXPECT_NE(text_of(of_file(holds("a 0\n"))).find("line 1"), std::string::npos);
  EXPECT_EQ(text_of(of_file(holds("n[1-2] slots=3\nn2\n"))), "n1:3 n2:4");
  EXPECT_NE(text_of(of_file(holds("# none\n"))).find("no host"), std::string::npos);
  EXPECT_NE(text_of(of_file("/no/such/file")).find("No such file"), std::string::npos);
}

TEST_F(HostFile, HasItsWordsInAnyOrderAndWithBlanks) {
  for (const char* line : {"a slots = 2", "a max_slots=4 slots=2", "a slots=2 max-slots = 4", "a slots= 2", "a count=2",
                           "a:1 slots =2", "a 2", "a\t2 max_slots=2"})
    EXPECT_EQ(text_of(of_file(holds(line))), "a:2") << line;
  EXPECT_EQ(text_of(of_file(holds("[fd00::1]:2\nfd00::2 slots=3\n"))), "fd00::1:2 fd00::2:3");
  for (const char* line : {"a slots = x", "a max_slots=0", "a slots=4 max_slots=2", "a slots="})
    EXPECT_NE(text_of(of_file(holds(line))).find("line 1"), std::string::npos) << line;
  EXPECT_EQ(notes_, std::vector<std::string>());
}

TEST_F(HostFile, NamesTheWordsThatItDoesNotKnow) {
  EXPECT_EQ(text_of(of_file(holds("a\nb 4 all.q@b UNDEFINED\nc 4 all.q@c UNDEFINED\nd ib0=x\n"))), "a:1 b:4 c:4 d:1");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("line 2: 'all.q@b UNDEFINED' is ignored, and such words in 2 more lines"), std::string::npos)
      << notes_[0];
}

TEST(HostList, OfSlurmIsExpanded) {
  EXPECT_EQ(text_of(read_slurm("n[1-3,7],m", "2(x3),1,4")), "n1:2 n2:2 n3:2 n7:1 m:4");
  EXPECT_EQ(text_of(read_slurm("rack[1-2]n[08-10]x", "")),
            "rack1n08x:1 rack1n09x:1 rack1n10x:1 rack2n08x:1 rack2n09x:1 rack2n10x:1");
  for (const auto& [nodes, tasks] : {std::pair{"", "1"},
                                     {"n[1-", "1"},
                                     {"n[3-1]", "1"},
                                     {"n[x]", "1"},
                                     {"n1", "x"},
                                     {"n1", "2(x"},
                                     {"n[0-99999999]", "1"}})
    EXPECT_TRUE(text_of(read_slurm(nodes, tasks)).starts_with("error")) << nodes << " " << tasks;
}

TEST(HostList, PlacesRanksBySlotsOrInTurn) {
  const HostList hosts{{"a", 2}, {"b", 1}, {"c", 3}};
  EXPECT_EQ(place_ranks(hosts, 6, false), (std::vector<int>{0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(place_ranks(hosts, 6, true), (std::vector<int>{0, 1, 2, 0, 2, 2}));
  EXPECT_EQ(place_ranks(hosts, 2, false), (std::vector<int>{0, 0}));
  EXPECT_EQ(place_ranks(hosts, 8, false), (std::vector<int>{0, 0, 1, 2, 2, 2, 0, 0}));  // more ranks than slots
  EXPECT_EQ(place_ranks(hosts, 8, true), (std::vector<int>{0, 1, 2, 0, 2, 2, 0, 1}));
}

TEST(HostList, PlacesNoMoreRanksThanAHostMayHave) {
  const HostList hosts{{"a", 1, 1}, {"b", 1, 3}};
  for (const bool in_turn : {false, true}) {
    EXPECT_EQ(place_ranks(hosts, 4, in_turn), (std::vector<int>{0, 1, 1, 1}));
    EXPECT_EQ(place_ranks(hosts, 9, in_turn).size(), 4u);
  }
}

std::string placed(std::vector<const char*> words, const Defaults& defaults = {}) {
  words.push_back("prog");
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == std::string_view(":")) words.insert(words.begin() + static_cast<std::ptrdiff_t>(i++), "first");
  const auto options = parse_options(words, defaults);
  if (!options) return "error: " + options.error().what;
  std::string out;
  for (const int host : options->host_of_rank)
    out += options->hosts.empty() ? "." : options->hosts[static_cast<std::size_t>(host)];
  return out;
}

TEST(HostOptions, SayHowManyRanksAndWhere) {
  EXPECT_EQ(placed({"--hosts", "a:2,b"}), "aab");
  EXPECT_EQ(placed({"-H", "a,b", "-n", "4"}), "abab");
  EXPECT_EQ(placed({"-n", "3", "-host", "a:2", "-host", "b:2"}), "aab");
  EXPECT_EQ(placed({"--hosts", "a:2,b:2", "--map-by", "node"}), "abab");
  EXPECT_EQ(placed({"--hosts", "a,b", "-ppn", "2"}), "aabb");
  EXPECT_EQ(placed({"--hosts", "a,b", "--map-by", "ppr:2:node"}), "aabb");
  EXPECT_EQ(placed({"--hosts", "a:4,b", "-n", "2"}), "aa");
  EXPECT_EQ(placed({"-n", "2"}), "..");
  EXPECT_NE(placed({"--hosts", "a,b", "--host-split", "1,1"}).find("pretends"), std::string::npos);
  EXPECT_NE(placed({"--hosts", "a:1048576,b"}).find("at most"), std::string::npos);
  EXPECT_NE(placed({"--host-timeout", "0.1", "--hosts", "a"}).find("--host-timeout"), std::string::npos);
  EXPECT_NE(placed({"-H", "a", "--hostfile", "/proc/sys/kernel/hostname"}).find("both name hosts"), std::string::npos);
}

TEST(HostOptions, BelongToTheirSection) {
  EXPECT_EQ(placed({"-host", "a", "-n", "2", ":", "-host", "b", "-n", "2"}), "aabb");
  EXPECT_EQ(placed({"-host", "a:2", ":", "-host", "b:3"}), "aabbb");
  EXPECT_EQ(placed({"--hosts", "a:2,b:2", "-n", "1", ":", "-n", "3"}), "aabb");  // the first's are all sections'
  EXPECT_EQ(placed({"--hosts", "a:4,b:4", "-n", "2", ":", "-host", "c", "-n", "1", ":", "-n", "4"}), "aacaabb");
  EXPECT_EQ(placed({"--hosts", "a:2,b:2", "-n", "1", ":", "--hosts", "a:2,b:2", "-n", "3"}), "aabb");
  EXPECT_EQ(placed({"--map-by", "node", "--hosts", "a,b", "-n", "2", ":", "--hosts", "b,c", "-n", "3"}), "abbcb");
  EXPECT_EQ(placed({"-n", "1", ":", "-host", "b", "-n", "2"}), boot::host_name() + "bb");
  const std::array words{"--hosts", "a:4,b:4", "-n", "2", "p", ":", "-host", "c", "q"};
  const auto options = parse_options(words, {});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->hosts, (std::vector<std::string>{"a", "c"}));  // b is there for what is spawned
  EXPECT_EQ(options->universe.size(), 3u);
  EXPECT_EQ(options->universe_size, 9);
}

TEST(HostOptions, AreThoseOfTheAllocationWithoutOthers) {
  Defaults slurm;
  slurm.slurm_tasks = "3";
  slurm.slurm_nodes = "2";
  slurm.slurm_list = "n[1-2]";
  slurm.slurm_per_node = "2,1";
  EXPECT_EQ(placed({}, slurm), "n1n1n2");
  EXPECT_EQ(placed({"-n", "2"}, slurm), "n1n1");
  EXPECT_EQ(placed({"--hosts", "x"}, slurm), "x");
  EXPECT_EQ(placed({"-n", "2", "--host-split", "1,1"}, slurm), "..");
  slurm.slurm_nodes = "1";
  EXPECT_EQ(placed({}, slurm), "...");
  const auto words = std::array{"prog"};
  slurm.slurm_nodes = "2";
  EXPECT_TRUE(parse_options(words, slurm)->launcher.starts_with("srun "));
}

TEST(AgentCommand, HasTheHostWhereItIsWanted) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(agent_command("ip netns exec", "a", "/x/rmqrun"),
            (Words{"ip", "netns", "exec", "a", "/x/rmqrun", "--agent"}));
  EXPECT_EQ(agent_command("run --on={} --", "a", "/x/rmqrun"), (Words{"run", "--on=a", "--", "/x/rmqrun", "--agent"}));
  const Words ssh = agent_command("", "a", "/x y/it's");
  EXPECT_EQ(ssh[0], "ssh");
  EXPECT_EQ(ssh[ssh.size() - 3], "a");
  EXPECT_EQ(ssh[ssh.size() - 2], "exec '/x y/it'\\''s'");
}

TEST(AgentTermsText, IsReadBack) {
  AgentTerms terms{"ssh -v", 7, std::chrono::milliseconds(2500), true, false, {"a", "b"}};
  const auto back = read_terms(terms_text(terms));
  ASSERT_TRUE(back);
  EXPECT_EQ(terms_text(*back), terms_text(terms));
  const std::string text = terms_text(terms);
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(read_terms(text.substr(0, length)));
}

TEST(PlanText, IsReadBackAndNoPartOfItIs) {
  const auto words =
      std::array{"-x", "A=b c", "--hosts", "a:2,b:1", "-n", "2", "prog", "x y", ":", "-n", "1", "-wdir", "/", "other"};
  const auto options = parse_options(words, {});
  ASSERT_TRUE(options) << options.error().what;
  JobPlan plan = plan_job(*options);
  plan.takes_input = true;
  const std::string text = plan_text(plan);
  const auto back = read_plan(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(plan_text(*back), text);
  EXPECT_EQ(back->job.host_of_rank, plan.job.host_of_rank);
  EXPECT_EQ(back->sections[0].environment.get("A"), "b c");
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(read_plan(std::string_view(text).substr(0, length))) << length;
}

// The launcher reads files of programs, while it serves others.
TEST_F(HostFile, OfAProgramIsNotWaitedFor) {
  const std::string path = ::testing::TempDir() + "rmq-fifo-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto text = read_plain_file(path);
  ::unlink(path.c_str());
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().what.find("no plain file"), std::string::npos) << text.error().what;
}

}  // namespace
}  // namespace rmq::launch
