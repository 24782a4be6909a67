// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a program's, such as names of files and values of variables, in JSON, which has UTF-8 alone: each byte is a
// character of its own, those beyond ASCII two bytes long.
#pragma once

#include <string>
#include <string_view>

namespace rmq {

inline std::string as_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xc0 | byte >> 6);
    text += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
  }
  return text;
}

/// The way back; what as_text() has not made comes out as something, and no longer.
inline std::string as_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0xc0 || i + 1 == text.size())
      bytes += text[i];
    else
      bytes += static_cast<char>((lead & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
  }
  return bytes;
}

}  // namespace rmq
