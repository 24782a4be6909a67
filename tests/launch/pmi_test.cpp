// SPDX-License-Identifier: BSD-3-Clause
// The wire clients against a launcher of our own making: PMI-1 with a launcher that keeps or breaks the rules, what
// rank 0 spreads, and the types that are handed to libpmix.
#include "start/pmi.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "start/boot_wire.hpp"
#include "start/pmi_start.hpp"
#include "start/pmi_wire.hpp"
#include "start/pmix_abi.hpp"
#include "tools/process/fd.hpp"

#ifdef RMQ_PMIX_HEADER
#include <pmix_common.h>
#endif

namespace rmq::pmi {
namespace {

using Answers = std::map<std::string, std::string>;

// Of a launcher that keeps the rules; a test replaces some. By the request's cmd; "" ends the connection.
Answers good_answers() {
  return {{"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
          {"get_appnum", "cmd=appnum appnum=1"},
          {"get_universe_size", "cmd=universe_size size=9"},
          {"get_my_kvsname", "cmd=my_kvsname kvsname=space"},
          {"put", "cmd=put_result rc=0 msg=success"},
          {"barrier_in", "cmd=barrier_out"},
          {"get", "cmd=get_result rc=0 msg=success value=theirs"},
          {"finalize", "cmd=finalize_ack"}};
}

class FakeLauncher {
 public:
  explicit FakeLauncher(Answers answers) : answers_(std::move(answers)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    client_ = os::UniqueFd(ends[0]);
    server_ = os::UniqueFd(ends[1]);
    thread_ = std::thread([this] { serve(); });
  }
  // To be called with the client gone.
  std::string heard() {
    client_.reset();
    if (thread_.joinable()) thread_.join();
    return heard_;
  }
  ~FakeLauncher() { heard(); }
  FakeLauncher(const FakeLauncher&) = delete;
  FakeLauncher& operator=(const FakeLauncher&) = delete;

  Result<std::unique_ptr<Launcher>> meet(int rank, int size) { return meet_pmi(std::move(client_), rank, size); }

 private:
  void serve() {
    LineReader reader;
    std::string bytes;
    while (launch::read_some(server_.get(), bytes)) {
      reader.add(bytes);
      bytes.clear();
      for (auto line = reader.next(); line && *line; line = reader.next()) {
        heard_ += **line + "\n";
        const auto answer = answers_.find(std::string(field(**line, "cmd").value_or("?")));
        if (answer == answers_.end()) continue;
        if (answer->second.empty()) return server_.reset();
        const std::string text = answer->second + "\n";
        ::send(server_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      }
    }
  }

  Answers answers_;
  os::UniqueFd client_, server_;
  std::string heard_;
  std::thread thread_;
};

TEST(PmiWire, FieldsAreFoundByTheirWholeName) {
  const std::string_view line = "cmd=get_result xrc=5 rc=-1 msg=a=b value= key=k";
  EXPECT_EQ(field(line, "rc"), "-1");
  EXPECT_EQ(number(line, "rc"), -1);
  EXPECT_EQ(field(line, "msg"), "a=b");
  EXPECT_EQ(field(line, "value"), "");
  EXPECT_FALSE(field(line, "val"));
  EXPECT_FALSE(field(line, "size"));
  EXPECT_FALSE(number(line, "msg"));
  EXPECT_FALSE(number("size=99999999999", "size"));
  EXPECT_FALSE(field("", "cmd"));
}

TEST(PmiWire, LinesSurviveAnyChopping) {
  const std::string stream = "cmd=a\n\ncmd=barrier_out rc=0\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    LineReader reader;
    std::string seen;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.add(std::string_view(stream).substr(at, piece));
      for (auto line = reader.next(); line && *line; line = reader.next()) seen += **line + "|";
    }
    EXPECT_EQ(seen, "cmd=a||cmd=barrier_out rc=0|");
  }
}

TEST(PmiWire, ALineWithoutEndIsRefused) {
  LineReader reader;
  reader.add(std::string(max_line, 'x'));
  EXPECT_TRUE(reader.next());
  reader.add("x");
  const auto line = reader.next();
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Errc::protocol);
}

TEST(PmiClient, LearnsItsPlaceAndSpreadsAValue) {
  for (const int rank : {0, 2}) {
    FakeLauncher fake(good_answers());
    {
      const auto launcher = fake.meet(rank, 4);
      ASSERT_TRUE(launcher) << launcher.error().what;
      EXPECT_EQ((*launcher)->place().rank, rank);
      EXPECT_EQ((*launcher)->place().size, 4);
      EXPECT_EQ((*launcher)->place().app_num, 1);
      EXPECT_EQ((*launcher)->place().universe_size, 9);
      const auto value = (*launcher)->spread("mine");
      ASSERT_TRUE(value) << value.error().what;
      EXPECT_EQ(*value, "theirs");
      EXPECT_TRUE((*launcher)->finalize());
      (*launcher)->abort(3, "");
    }
    const std::string put = rank == 0 ? "cmd=put kvsname=space key=rmq_start value=mine\n" : "";
    EXPECT_EQ(fake.heard(),
              "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_appnum\ncmd=get_universe_size\ncmd=get_my_kvsname\n" +
                  put + "cmd=barrier_in\ncmd=get kvsname=space key=rmq_start\ncmd=finalize\ncmd=abort exitcode=3\n");
  }
}

TEST(PmiClient, TakesVersion12AndNumbersThatMeanNothing) {
  Answers answers = good_answers();
  answers["init"] = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2";
  answers["get_appnum"] = "cmd=appnum rc=0 appnum=-1";  // Slurm
  answers["get_universe_size"] = "cmd=universe_size rc=0 size=infinite";
  answers["barrier_in"] = "cmd=barrier_out rc=0";
  FakeLauncher fake(answers);
  const auto launcher = fake.meet(1, 2);
  ASSERT_TRUE(launcher) << launcher.error().what;
  EXPECT_EQ((*launcher)->place().app_num, 0);
  EXPECT_EQ((*launcher)->place().universe_size, 2);
  EXPECT_TRUE((*launcher)->spread(""));
}

TEST(PmiClient, ALauncherThatBreaksTheRulesIsNamed) {
  const struct {
    const char *command, *answer, *message;
  } cases[] = {
      {"init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0", "PMI version 2.0"},
      {"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1", "refuses"},
      {"init", "", "closed the connection"},
      {"init", "garbage \x01\xff", "'response_to_init' was due"},
      {"get_appnum", "cmd=universe_size size=3", "'appnum' was due"},
      {"get_my_kvsname", "", "closed the connection"},
      {"put", "cmd=put_result rc=-1 msg=duplicate_key", "duplicate_key"},
      {"barrier_in", "", "closed the connection"},
      {"barrier_in", "cmd=barrier_out rc=1", "refuses"},
      {"barrier_in", "cmd=put_result rc=0", "'barrier_out' was due"},
      {"get", "cmd=get_result rc=-1 msg=key_not_found", "key_not_found"},
  };
  for (const auto& one : cases) {
    Answers answers = good_answers();
    answers[one.command] = one.answer;
    FakeLauncher fake(answers);
    auto launcher = fake.meet(0, 2);
    const auto result = launcher ? (*launcher)->spread("v") : tl::make_unexpected(launcher.error());
    ASSERT_FALSE(result) << one.command << " " << one.answer;
    EXPECT_NE(result.error().what.find(one.message), std::string::npos) << result.error().what;
    if (launcher) launcher->reset();
  }
  Answers answers = good_answers();
  answers["get"] = "cmd=get_result rc=0 value=" + std::string(2 * max_line, 'x');
  FakeLauncher fake(answers);
  const auto launcher = fake.meet(0, 2);
  ASSERT_TRUE(launcher);
  EXPECT_FALSE((*launcher)->spread("v"));
}

TEST(PmiClient, ARankOutsideOfItsJobIsRefused) {
  for (const auto& [rank, size] : {std::pair{2, 2}, {-1, 2}, {0, 0}}) {
    FakeLauncher fake(good_answers());
    EXPECT_FALSE(fake.meet(rank, size));
  }
}

TEST(PmiFind, TheOnlyProcessAsksNobody) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const os::UniqueFd mine(ends[0]), theirs(ends[1]);
  const std::string fd = std::to_string(mine.get());
  using Facts = std::map<std::string, std::string>;
  for (const Facts& facts :
       {Facts{}, Facts{{"PMI_FD", fd}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
        Facts{{"PMIX_NAMESPACE", "x"}, {"PMIX_RANK", "0"}, {"PMIX_SERVER_URI4", "x"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
        Facts{{"PMI_FD", "999"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, Facts{{"PMI_FD", "x"}, {"PMI_RANK", "0"}}}) {
    const auto found = find_launcher([&](const char* name) {
      const auto at = facts.find(name);
      return at == facts.end() ? nullptr : at->second.c_str();
    });
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->get(), nullptr);
  }
  char byte;
  EXPECT_EQ(::recv(theirs.get(), &byte, 1, MSG_DONTWAIT), -1);
}

TEST(PmiFind, APortThatIsNoneIsNamed) {
  const std::map<std::string, std::string> facts{{"PMI_PORT", "nowhere.invalid"}, {"PMI_ID", "0"}};
  const auto found = find_launcher([&](const char* name) {
    const auto at = facts.find(name);
    return at == facts.end() ? nullptr : at->second.c_str();
  });
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("PMI_PORT=nowhere.invalid"), std::string::npos) << found.error().what;
}

TEST(PmiFind, AMissingLibraryIsNamed) {
  const auto met = meet_pmix("libpmix.so.none");
  ASSERT_FALSE(met);
  EXPECT_NE(met.error().what.find("libpmix.so.none"), std::string::npos) << met.error().what;
}

TEST(PmiStart, WhatRankZeroSpreadsSurvives) {
  const Announcement news{"0123456789abcdef", std::string(64, 'a'), "4711 10.0.0.1 fe80::1 127.0.0.1"};
  const std::string text = format_announcement(news);
  EXPECT_EQ(text.find_first_of(" \n;="), std::string::npos);
  const auto back = parse_announcement(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->job, news.job);
  EXPECT_EQ(back->key, news.key);
  EXPECT_EQ(back->addresses, news.addresses);
}

TEST(PmiStart, AddressesThatDoNotFitAreLeftOutWhole) {
  Announcement news{"0123456789abcdef", std::string(64, 'a'), "4711"};
  for (int i = 0; i < 100; ++i) news.addresses += " 2001:db8::" + std::to_string(1000 + i);
  const std::string text = format_announcement(news);
  EXPECT_LE(text.size(), max_value);
  const auto back = parse_announcement(text);
  ASSERT_TRUE(back);
  EXPECT_TRUE(news.addresses.starts_with(back->addresses + " "));
  EXPECT_GT(back->addresses.size(), 600u);
}

TEST(PmiStart, WhatIsNoAnnouncementIsRefused) {
  const std::string good = format_announcement({"0123456789abcdef", std::string(64, 'a'), "4711 127.0.0.1"});
  for (const std::string& text : {std::string(), std::string("rmq2") + good.substr(4), good.substr(0, 40),
                                  good.substr(0, good.rfind(',')), std::string("a,b,c,d"), std::string(5000, ',')})
    EXPECT_FALSE(parse_announcement(text)) << text;
}

TEST(PmiStart, EachRankHasATicketOfItsOwn) {
  EXPECT_EQ(derive("k", "ticket 1").size(), boot::ticket_bytes);
  EXPECT_NE(derive("k", "ticket 1"), derive("k", "ticket 2"));
  EXPECT_NE(derive("k", "ticket 1"), derive("l", "ticket 1"));
  EXPECT_NE(derive("k", "secret"), derive("k", "ticket 1"));
}

#ifdef RMQ_PMIX_HEADER
TEST(PmixAbi, IsThatOfTheInstalledHeader) {
  EXPECT_EQ(sizeof(pmix::Proc), sizeof(pmix_proc_t));
  EXPECT_EQ(offsetof(pmix::Proc, rank), offsetof(pmix_proc_t, rank));
  EXPECT_EQ(sizeof(pmix::Value), sizeof(pmix_value_t));
  EXPECT_EQ(offsetof(pmix::Value, data), offsetof(pmix_value_t, data));
  EXPECT_EQ(pmix::rank_wildcard, static_cast<pmix_rank_t>(PMIX_RANK_WILDCARD));
  EXPECT_EQ(pmix::type_string, PMIX_STRING);
  EXPECT_EQ(pmix::type_uint32, PMIX_UINT32);
  EXPECT_EQ(pmix::scope_global, PMIX_GLOBAL);
  EXPECT_EQ(pmix::error_not_found, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(std::string("pmix.job.size"), PMIX_JOB_SIZE);
  EXPECT_EQ(std::string("pmix.univ.size"), PMIX_UNIV_SIZE);
  EXPECT_EQ(std::string("pmix.appnum"), PMIX_APPNUM);
}
#endif

}  // namespace
}  // namespace rmq::pmi
