// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/address.hpp"

#include <gtest/gtest.h>

#include "tcp/node.hpp"

namespace rmq::tcp {
namespace {

Address at(const char* text) {
  return boost::asio::ip::make_address(text);
}

const std::vector<Interface> kMachine = {
    {"lo", at("127.0.0.1"), true},     {"ib0", at("172.16.0.9"), false},
    {"eth0", at("192.0.2.2"), true},   {"eth1", at("10.1.2.3"), true},
    {"lo", at("::1"), true},           {"eth0", at("fe80::1"), true},
    {"eth0", at("2001:db8::2"), true}, {"eth1", at("2001:db8:1::3"), true},
};

std::vector<std::string> chosen(std::string_view wanted, bool one_host = true) {
  const auto addresses = choose_addresses(wanted, one_host, kMachine);
  if (!addresses) return {addresses.error().what};
  std::vector<std::string> texts;
  for (const Address& address : *addresses) texts.push_back(address.to_string());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ChooseAddresses, TakesLoopbackForOneMachine) {
  EXPECT_EQ(chosen(""), Texts{"127.0.0.1"});
}

TEST(ChooseAddresses, AddsTheOtherInterfacesThatAreUpForSeveralHosts) {
  EXPECT_EQ(chosen("", false), (Texts{"127.0.0.1", "192.0.2.2", "2001:db8::2", "10.1.2.3", "2001:db8:1::3"}));
  std::vector<Interface> many{{"lo", at("127.0.0.1"), true}};
  for (int i = 0; i < 20; ++i) many.push_back({"eth" + std::to_string(i), at("10.0.0.1"), true});
  EXPECT_EQ(choose_addresses("", false, many)->size(), 5u);  // each costs every rank a descriptor
}

TEST(ChooseAddresses, FollowsNamesNetworksAndAddresses) {
  EXPECT_EQ(chosen("lo"), (Texts{"127.0.0.1", "::1"}));
  EXPECT_EQ(chosen("eth1"), (Texts{"10.1.2.3", "2001:db8:1::3"}));
  EXPECT_EQ(chosen("10.0.0.0/8"), Texts{"10.1.2.3"});
  EXPECT_EQ(chosen("::1/128"), Texts{"::1"});
  EXPECT_EQ(chosen("2001:db8:1::/48"), Texts{"2001:db8:1::3"});
  EXPECT_EQ(chosen("192.0.2.2"), Texts{"192.0.2.2"});
}

TEST(ChooseAddresses, SaysWhatThereIsWhenNothingFits) {
  for (const char* wanted : {"eth7", "ib0", "203.0.113.0/24", "10.0.0.0/33"}) {
    const auto addresses = choose_addresses(wanted, true, kMachine);
    ASSERT_FALSE(addresses) << wanted;
    EXPECT_EQ(addresses.error().code, Errc::config);
    EXPECT_NE(addresses.error().what.find(wanted), std::string::npos);
    EXPECT_NE(addresses.error().what.find("eth1 10.1.2.3"), std::string::npos);
    EXPECT_NE(addresses.error().what.find("ib0 172.16.0.9 (down)"), std::string::npos);
  }
  EXPECT_FALSE(choose_addresses("", false, {}));
}

TEST(Place, SurvivesItsText) {
  const Place place{"boot/4026531840", {{at("127.0.0.1"), 4711}, {at("2001:db8::2"), 65535}}};
  const std::string text = format_place(place);
  EXPECT_EQ(text, "1 boot/4026531840 127.0.0.1:4711 [2001:db8::2]:65535");
  const auto parsed = parse_place(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->machine, place.machine);
  EXPECT_EQ(parsed->endpoints, place.endpoints);
}

TEST(Place, RefusesDamagedText) {
  for (const char* text : {"", "1", "1 m", "2 m 127.0.0.1:1", "1 m 127.0.0.1", "1 m 127.0.0.1:0", "1 m 127.0.0.1:65536",
                           "1 m 127.0.0.1:1x", "1 m host:1", "1 m [::1:5", "1 m 127.0.0.1:1 :", "1 m  127.0.0.1:1"}) {
    EXPECT_FALSE(parse_place(text)) << text;
  }
}

TEST(Place, OffersLoopbackToTheSameMachineOnly) {
  const Place place{"here", {{at("192.0.2.2"), 1}, {at("127.0.0.1"), 2}}};
  EXPECT_EQ(usable(place, "here"), (std::vector<Endpoint>{{at("127.0.0.1"), 2}, {at("192.0.2.2"), 1}}));
  EXPECT_EQ(usable(place, "there"), (std::vector<Endpoint>{{at("192.0.2.2"), 1}}));
}

TEST(Place, PrefersWhatIsAlikeToAGoodAddress) {
  const Endpoint a(at("10.77.1.4"), 1), b(at("fd00:1::4"), 2), c(at("10.77.2.4"), 3), d(at("192.0.2.4"), 4);
  const auto order = [&](const char* good) {
    std::vector<Endpoint> endpoints{a, b, c, d};
    prefer(endpoints, at(good));
    return endpoints;
  };
  EXPECT_EQ(order("10.77.2.3"), (std::vector<Endpoint>{c, a, b, d}));
  EXPECT_EQ(order("10.77.1.4"), (std::vector<Endpoint>{a, c, b, d}));
  EXPECT_EQ(order("fd00:1::9"), (std::vector<Endpoint>{b, a, c, d}));
  EXPECT_EQ(order("192.0.2.4"), (std::vector<Endpoint>{d, a, b, c}));
}

TEST(Machine, HasLoopbackAndAnIdentity) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces);
  EXPECT_TRUE(choose_addresses("", true, *interfaces));
  EXPECT_EQ(machine_identity(), machine_identity());
  EXPECT_GT(machine_identity().size(), 8u);
  EXPECT_EQ(machine_identity().find(' '), std::string::npos);
}

}  // namespace
}  // namespace rmq::tcp
