// SPDX-License-Identifier: BSD-3-Clause
// The configuration of one device: read once from the environment, then constant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rmq {

namespace config {
using Bytes = std::uint64_t;
using Count = std::uint64_t;
using Nanoseconds = std::uint64_t;
using Flag = bool;
using Text = std::string;

/// Reads one value as config.def describes it: 64K, 4M, 200us, 10s, on/off/1/0. Errc::config with the reason.
Result<std::uint64_t> parse_bytes(std::string_view text);
Result<std::uint64_t> parse_nanoseconds(std::string_view text);
Result<std::uint64_t> parse_count(std::string_view text);
Result<bool> parse_flag(std::string_view text);
/// The reverse of parse_bytes, for people: "64 KB", "4 MB", "100 B".
std::string bytes_text(std::uint64_t bytes);
}  // namespace config

struct Config {
#define RMQ_CONFIG(type, member, name, value, unit, meaning) config::type member{};
#include "base/config.def"
#undef RMQ_CONFIG

  /// All defaults, no environment.
  Config();

  /// Defaults overridden by the environment. Errc::config names the variable, its value and what would be accepted.
  static Result<Config> from_environment();

  /// The same with any source of values: `get` returns nullptr for what is not set.
  static Result<Config> from(const std::function<const char*(const char* name)>& get);
};

/// One variable, for rmqinfo.
struct ConfigVariable {
  std::string_view type, member, name, value, unit, meaning;  // value: the default, as text
};
std::span<const ConfigVariable> config_variables();

}  // namespace rmq
