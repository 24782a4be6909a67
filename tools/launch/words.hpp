// SPDX-License-Identifier: BSD-3-Clause
// Words of a command line: numbers, parts, and what is wrong with them.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rmq::launch {

inline constexpr int max_ranks = 1 << 20;

inline tl::unexpected<Error> wrong(std::string what) {
  return fail(Errc::argument, std::move(what));
}

inline std::optional<int> parse_number(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}
/// From 1 to `high`.
inline std::optional<int> parse_count(std::string_view text, int high) {
  return parse_number(text, 1, high);
}

/// All parts, empty ones as well.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace rmq::launch
