// SPDX-License-Identifier: BSD-3-Clause
// Processes of two jobs that meet in a party: numbers, credit, messages, memory's tokens, the end, and meeting again;
// all in one process, over the in-process method.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "methods/inproc.hpp"
#include "start/bootstrap.hpp"

namespace rmq::testing {
namespace {

/// Two jobs of two, the second with less credit to grant; every job and every party has a world of its own.
class Party : public ::testing::Test {
 protected:
  static constexpr int kRanks = 2;

  void SetUp() override {
    for (int job = 0; job < 2; ++job) {
      bootstraps_[job] = local_bootstraps(kRanks);
      for (int rank = 0; rank < kRanks; ++rank) {
        adi::DeviceOptions options;
        options.on_parted = [](std::span<const std::uint64_t> others, int lost, bool) {
          for (const std::uint64_t other : others) parted_.emplace_back(other, lost);
        };
        options.config.unexpected_max = job == 0 ? 1 << 20 : 256 << 10;
        options.methods = {[this](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
          auto& world = worlds_[c.bootstrap.job().job];
          if (!world) world = std::make_unique<methods::InprocWorld>(c.bootstrap.job().size, methods::InprocRules{});
          return world->open(c);
        }};
        auto made = adi::Device::MPID_Init(std::move(options), *bootstraps_[job][static_cast<std::size_t>(rank)]);
        ASSERT_TRUE(made.has_value()) << made.error().what;
        devices_.push_back(std::move(*made));
      }
    }
  }
  void TearDown() override {
    devices_.clear();
    worlds_.clear();
    parted_.clear();
  }

  adi::Device& device(int job, int rank) { return *devices_[static_cast<std::size_t>(job * kRanks + rank)]; }
  static Process process(adi::Device& d) { return {job_number(d.job().job), static_cast<std::uint32_t>(d.rank()), 1}; }
  /// The second job's ranks come first in it, so that no member has the number that it has elsewhere.
  void meet(std::uint64_t id) {
    PartyFacts facts;
    facts.id = id;
    for (const int i : {3, 2, 1, 0}) facts.members.push_back(process(*devices_[static_cast<std::size_t>(i)]));
    facts.credit = device(1, 0).credit_to_grant();
    std::vector<std::unique_ptr<adi::Party>> opened;
    std::vector<std::string> cards;
    for (int i = 0; i < 4; ++i) {
      facts.me = 3 - i;
      opened.push_back(devices_[static_cast<std::size_t>(i)]->make_party(facts));
      ASSERT_TRUE(opened.back()->open().has_value());
      cards.push_back(opened.back()->cards());
    }
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(opened[i]->join(cards).has_value());
      devices_[i]->admit_party(std::move(opened[i]));
    }
  }
  void part() {
    for (const auto& d : devices_) {
      while (!d->parties().empty()) d->dismiss_party(*d->parties().front());
    }
  }
  void poll_all(int turns = 50) {
    for (int i = 0; i < turns; ++i)
      for (const auto& d : devices_) d->MPID_Poll(false);
  }

  static Request* start(adi::Device& d, RequestKind kind, Rank peer, int source, std::vector<std::byte>& data) {
    Request* r = d.MPID_Request_create(kind);
    r->peer = peer;
    r->match = {40, source, 7};
    r->view = DataView::contiguous(data.data(), data.size());
    if (kind == RequestKind::send)
      d.MPID_Isend(r);
    else
      d.MPID_Irecv(r);
    return r;
  }
  /// From one to the other, in a communicator where the sender's rank is 1.
  void exchange(adi::Device& from, adi::Device& to, std::size_t bytes) {
    std::vector<std::byte> data(bytes, std::byte{42}), got(bytes);
    Request* const recv = start(to, RequestKind::recv, to.number_of(process(from)), 1, got);
    Request* const send = start(from, RequestKind::send, from.number_of(process(to)), 1, data);
    poll_all();
    ASSERT_TRUE(send->complete() && recv->complete());
    EXPECT_EQ(recv->status.error, Errc::ok);
    EXPECT_EQ(got, data);
    from.MPID_Request_free(send);
    to.MPID_Request_free(recv);
  }
  void exchange_all() {
    for (const std::size_t bytes : {0u, 8u, 3000u, 300000u})
      for (const auto& from : devices_)
        for (const auto& to : devices_)
          if (from != to) exchange(*from, *to, bytes);
  }

  static inline std::vector<std::pair<std::uint64_t, int>> parted_;  // what DeviceOptions::on_parted has been told
  std::map<std::string, std::unique_ptr<methods::InprocWorld>> worlds_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_[2];
  std::vector<std::unique_ptr<adi::Device>> devices_;
};

TEST_F(Party, MembersHaveNumbersBehindTheOwnJobs) {
  EXPECT_EQ(device(0, 0).number_of(process(device(1, 1))), kNoRank);
  meet(0x1234);
  adi::Device& d = device(0, 1);
  EXPECT_EQ(d.size(), 2);
  EXPECT_EQ(d.known(), 4);
  EXPECT_EQ(d.number_of(process(device(0, 0))), 0);
  EXPECT_EQ(d.number_of(process(device(1, 1))), 2);  // the first member that was new
  EXPECT_EQ(d.number_of(process(device(1, 0))), 3);
  EXPECT_TRUE(d.process_of(3).is(process(device(1, 0))));
  EXPECT_EQ(d.method_of(3), methods::MethodId::party);
  EXPECT_EQ(d.method_of(0), methods::MethodId::inproc);
  EXPECT_FALSE(d.any_foreign({0, 1}));
  EXPECT_TRUE(d.any_foreign({0, 3}));
}

TEST_F(Party, MessagesOfAllSizesGoBothWays) {
  meet(0x1234);
  exchange_all();
}

TEST_F(Party, CreditIsWhatBothHaveAgreedOn) {
  meet(0x1234);
  // The first job would grant more than the second: what one sends without a receive stays within the smaller.
  adi::Device &from = device(0, 0), &to = device(1, 0);
  std::vector<std::byte> data(2000, std::byte{1});
  std::vector<Request*> sends;
  for (int i = 0; i < 500; ++i) sends.push_back(start(from, RequestKind::send, from.number_of(process(to)), 1, data));
  poll_all();
  EXPECT_LE(to.counters().unexpected_bytes, to.credit_to_grant());
  EXPECT_EQ(to.counters().protocol_errors, 0u);
  std::vector<std::byte> got(2000);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    Request* const recv = start(to, RequestKind::recv, to.number_of(process(from)), 1, got);
    poll_all(20);
    ASSERT_TRUE(recv->complete()) << i;
    to.MPID_Request_free(recv);
  }
  for (Request* const r : sends) {
    EXPECT_TRUE(r->complete());
    from.MPID_Request_free(r);
  }
  EXPECT_EQ(to.counters().unexpected_bytes, 0u);
}

TEST_F(Party, WhoHasPartedIsUnknownAndMayBeMetAgain) {
  for (const std::uint64_t id : {0x1111, 0x2222, 0x3333}) {
    meet(id);
    exchange_all();
    part();
    adi::Device& d = device(0, 0);
    EXPECT_EQ(d.number_of(process(device(1, 0))), kNoRank);
    EXPECT_FALSE(d.is_here(2));
    EXPECT_TRUE(d.is_here(1));
    EXPECT_EQ(d.known(), 4);  // numbers stay theirs
    std::vector<std::byte> data(8);
    Request* const send = start(d, RequestKind::send, 2, 1, data);
    EXPECT_TRUE(send->complete());
    EXPECT_EQ(send->status.error, Errc::peer_lost);
    d.MPID_Request_free(send);
    exchange(device(0, 0), device(0, 1), 8);
  }
}

TEST_F(Party, PartiesAreToldApartByTheirTokens) {
  meet(0x1234);
  EXPECT_FALSE(device(0, 0).party_is_new(0x1234));
  EXPECT_FALSE(device(0, 0).party_is_new(0x777000000001234u));  // the same tag
  EXPECT_FALSE(device(0, 0).party_is_new(0x8000));              // none
  EXPECT_TRUE(device(0, 0).party_is_new(0x1235));
}

// The other side takes all of this one's for dead when the root's line ends, whatever was known here at that time.
TEST_F(Party, TheDeathOfTheRootEndsTheOtherJobWhetherItComesBeforeOrAfterTheRootIsKnown) {
  meet(0x1234);
  const std::uint64_t other = job_number(device(1, 0).job().job);
  const std::vector<std::pair<std::uint64_t, int>> once{{other, -1}};
  adi::Party& party = *device(0, 1).parties().front();
  party.on_death(0);  // while the sides vote
  EXPECT_TRUE(parted_.empty());
  party.set_root(0, {other});
  EXPECT_EQ(parted_, once);

  parted_.clear();
  adi::Party& later = *device(1, 1).parties().front();
  later.set_root(0, {other});
  EXPECT_TRUE(parted_.empty());
  later.on_death(0);
  EXPECT_EQ(parted_, once);
}

TEST_F(Party, ALossIsToldByNumber) {
  meet(0x1234);
  adi::Device& d = device(0, 0);
  std::vector<std::byte> got(8);
  Request* const recv = start(d, RequestKind::recv, 2, 1, got);
  worlds_[job_name(0x1234)]->kill(0);  // rank 1 of the second job, by its place in the party
  for (int i = 0; i < 50; ++i)
    for (const int other : {0, 1, 2}) devices_[static_cast<std::size_t>(other)]->MPID_Poll(false);
  ASSERT_TRUE(recv->complete());
  EXPECT_EQ(recv->status.error, Errc::peer_lost);
  EXPECT_NE(d.peer_error(2).find("rank 1 of job " + device(1, 0).job().job), std::string::npos) << d.peer_error(2);
  EXPECT_TRUE(d.peer_error(3).empty());
  d.MPID_Request_free(recv);
}

}  // namespace
}  // namespace rmq::testing
