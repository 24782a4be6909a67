// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/printable.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace rmq::launch {

namespace {

constexpr unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

// Bytes of the character of UTF-8 that the text begins with; 0: it is none, or a control character.
std::size_t printable_character(std::string_view text) {
  const unsigned char first = byte_of(text[0]);
  if (first < 0x80) return first == '\n' || first == '\t' || (first >= ' ' && first != 0x7f) ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte_of(text[i]) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte_of(text[1]);
  if (first == 0xc2 && second < 0xa0) return 0;  // C1
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return is_overlong || is_no_character ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = printable_character(text);
    if (size == 0)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte_of(text[0]));
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace rmq::launch
