// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace rmq {
namespace config {
namespace {

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};

Result<std::uint64_t> parse_scaled(std::string_view text, std::span<const Suffix> suffixes, std::string_view expects) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{}) return fail(Errc::config, fmt::format("expects {}", expects));
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& s : suffixes) {
    std::uint64_t scaled = 0;
    if (s.text != suffix) continue;
    if (__builtin_mul_overflow(value, s.factor, &scaled)) return fail(Errc::config, "is too large");
    return scaled;
  }
  return fail(Errc::config, fmt::format("expects {}", expects));
}

constexpr std::uint64_t kKilo = 1024;

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  static constexpr Suffix kSuffixes[] = {{"", 1},
                                         {"K", kKilo},
                                         {"k", kKilo},
                                         {"M", kKilo * kKilo},
                                         {"m", kKilo * kKilo},
                                         {"G", kKilo * kKilo * kKilo},
                                         {"g", kKilo * kKilo * kKilo}};
  return parse_scaled(text, kSuffixes, "a number of bytes such as 4096, 64K, 4M or 1G");
}

Result<std::uint64_t> parse_nanoseconds(std::string_view text) {
  static constexpr Suffix kSuffixes[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  return parse_scaled(text, kSuffixes, "a time such as 500ns, 200us, 10ms or 2s");
}

Result<std::uint64_t> parse_count(std::string_view text) {
  static constexpr Suffix kSuffixes[] = {{"", 1}};
  return parse_scaled(text, kSuffixes, "a whole number");
}

Result<bool> parse_flag(std::string_view text) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  return fail(Errc::config, "expects 1 or 0 (on/off, yes/no, true/false)");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= kKilo * kKilo && bytes % (kKilo * kKilo) == 0) return fmt::format("{} MB", bytes / (kKilo * kKilo));
  if (bytes >= kKilo && bytes % kKilo == 0) return fmt::format("{} KB", bytes / kKilo);
  return fmt::format("{} B", bytes);
}

namespace {

Result<void> assign(std::uint64_t& to, std::string_view type, std::string_view text) {
  const auto value = type == "Bytes"         ? parse_bytes(text)
                     : type == "Nanoseconds" ? parse_nanoseconds(text)
                                             : parse_count(text);
  if (!value) return tl::unexpected(value.error());
  to = *value;
  return {};
}

Result<void> assign(bool& to, std::string_view, std::string_view text) {
  const auto value = parse_flag(text);
  if (!value) return tl::unexpected(value.error());
  to = *value;
  return {};
}

Result<void> assign(std::string& to, std::string_view, std::string_view text) {
  to = text;
  return {};
}

}  // namespace
}  // namespace config

Config::Config() {
#define RMQ_CONFIG(type, member, name, value, unit, meaning) \
  RMQ_CHECK(config::assign(member, #type, value).has_value());
#include "base/config.def"
#undef RMQ_CONFIG
}

Result<Config> Config::from(const std::function<const char*(const char*)>& get) {
  Config c;
#define RMQ_CONFIG(type, member, name, value, unit, meaning)                                                 \
  if (const char* text = get(name)) {                                                                        \
    if (auto ok = config::assign(c.member, #type, text); !ok) {                                              \
      return fail(Errc::config, fmt::format("{}='{}' {} (default {})", name, text, ok.error().what, value)); \
    }                                                                                                        \
  }
#include "base/config.def"
#undef RMQ_CONFIG
  return c;
}

Result<Config> Config::from_environment() {
  return from([](const char* name) -> const char* { return std::getenv(name); });
}

std::span<const ConfigVariable> config_variables() {
  static constexpr ConfigVariable kVariables[] = {
#define RMQ_CONFIG(type, member, name, value, unit, meaning) {#type, #member, name, value, unit, meaning},
#include "base/config.def"
#undef RMQ_CONFIG
  };
  return kVariables;
}

}  // namespace rmq
