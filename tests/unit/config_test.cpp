// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rmq {
namespace {

using config::parse_bytes;
using config::parse_count;
using config::parse_flag;
using config::parse_nanoseconds;

struct Spelling {
  std::string_view text;
  std::uint64_t value;
};

TEST(Config, ReadsBytesWithASuffix) {
  for (const Spelling c : {Spelling{"0", 0},
                           {"4096", 4096},
                           {"64K", 65536},
                           {"64k", 65536},
                           {"1g", 1u << 30},
                           {"4M", 4u << 20},
                           {"1G", 1u << 30},
                           {"18446744073709551615", ~std::uint64_t{0}},
                           {"17179869183G", 17179869183u * (std::uint64_t{1} << 30)}}) {
    const auto value = parse_bytes(c.text);
    ASSERT_TRUE(value) << c.text;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

TEST(Config, ReadsTimesWithASuffix) {
  for (const Spelling c :
       {Spelling{"7", 7}, {"500ns", 500}, {"200us", 200000}, {"10ms", 10000000}, {"2s", 2000000000}, {"0", 0}}) {
    const auto value = parse_nanoseconds(c.text);
    ASSERT_TRUE(value) << c.text;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

TEST(Config, ReadsFlags) {
  for (std::string_view yes : {"1", "on", "yes", "true"}) EXPECT_TRUE(parse_flag(yes).value_or(false)) << yes;
  for (std::string_view no : {"0", "off", "no", "false"}) EXPECT_FALSE(parse_flag(no).value_or(true)) << no;
  for (std::string_view bad : {"", "2", "TRUE", "on "}) EXPECT_FALSE(parse_flag(bad)) << bad;
}

TEST(Config, RefusesWhatIsNoNumber) {
  for (std::string_view bad : {"", " ", "-1", "+1", "K", "1KB", "1 K", "0x10", "1.5M", "64K ", "18446744073709551616",
                               "18446744073709551615K", "99999999999999999999"}) {
    EXPECT_FALSE(parse_bytes(bad)) << '"' << bad << '"';
  }
  for (std::string_view bad : {"", "s", "1m", "1 s", "1h", "18446744073709551615s"}) {
    EXPECT_FALSE(parse_nanoseconds(bad)) << '"' << bad << '"';
  }
  for (std::string_view bad : {"", "1K", "-3", "3 "}) EXPECT_FALSE(parse_count(bad)) << '"' << bad << '"';
}

Result<Config> from(const std::map<std::string, std::string>& values) {
  return Config::from([&](const char* name) -> const char* {
    const auto it = values.find(name);
    return it == values.end() ? nullptr : it->second.c_str();
  });
}

TEST(Config, KeepsDefaultsForWhatIsNotSet) {
  const auto set = from({{"RMQ_EAGER_MAX", "8K"}, {"RMQ_GET_MODE", "off"}, {"RMQ_METHODS", "tcp"}});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->eager_max, 8192u);
  EXPECT_FALSE(set->get_mode);
  EXPECT_EQ(set->methods, "tcp");
  EXPECT_EQ(set->unexpected_max, Config().unexpected_max);
  EXPECT_EQ(set->spin, 200000u);
}

TEST(Config, AnErrorNamesVariableValueAndWhatIsExpected) {
  const auto bad = from({{"RMQ_UNEXPECTED_MAX", "lots"}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::config);
  for (std::string_view part : {"RMQ_UNEXPECTED_MAX", "lots", "64K", "64M"}) {
    EXPECT_NE(bad.error().what.find(part), std::string::npos) << bad.error().what;
  }
}

TEST(Config, EveryVariableRefusesGarbageUnlessItIsText) {
  for (const ConfigVariable& v : config_variables()) {
    const auto set = from({{std::string(v.name), "?!"}});
    EXPECT_EQ(set.has_value(), v.type == "Text") << v.name;
  }
}

TEST(Config, EveryVariableTakesItsOwnDefault) {
  std::set<std::string_view> names;
  for (const ConfigVariable& v : config_variables()) {
    EXPECT_TRUE(names.insert(v.name).second) << v.name;
    EXPECT_EQ(v.name.substr(0, 4), "RMQ_");
    EXPECT_FALSE(v.meaning.empty()) << v.name;
    EXPECT_FALSE(v.unit.empty()) << v.name;
    EXPECT_TRUE(from({{std::string(v.name), std::string(v.value)}})) << v.name;
  }
}

}  // namespace
}  // namespace rmq
