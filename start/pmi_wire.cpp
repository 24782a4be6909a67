// SPDX-License-Identifier: BSD-3-Clause
#include "start/pmi_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rmq::pmi {

std::optional<std::string_view> field(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    line.remove_prefix(std::min(space + 1, line.size()));
    if (word.size() > key.size() && word[key.size()] == '=' && word.starts_with(key))
      return word.substr(key.size() + 1);
  }
  return std::nullopt;
}

std::optional<int> number(std::string_view line, std::string_view key) {
  const auto text = field(line, key);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::string abort_line(int code) {
  return fmt::format("cmd=abort exitcode={}\n", code);
}

Result<std::optional<std::string>> LineReader::next() {
  const std::size_t end = text_.find('\n');
  if (end > max_line && text_.size() > max_line)
    return fail(Errc::protocol, fmt::format("a PMI line of more than {} bytes", max_line));
  if (end == std::string::npos) return std::nullopt;
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

}  // namespace rmq::pmi
