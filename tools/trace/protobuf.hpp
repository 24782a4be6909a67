// SPDX-License-Identifier: BSD-3-Clause
// The few kinds of protobuf fields that are needed are written here: a generated writer and its library would be the
// larger part by far.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rmq::trace {

/// A message under construction: its bytes. Kept and cleared, it allocates nothing.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& fixed(int field, std::uint64_t value) {
    key(field, 1);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian, as we are
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& clear() {
    bytes_.clear();
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

}  // namespace rmq::trace
