// SPDX-License-Identifier: BSD-3-Clause
// JSON into memory that is there already: for what a rank tells about itself, perhaps from a signal handler. Allocates
// nothing and never fails: lists that may grow long ask has_room() before each entry, and what does not fit is left
// out.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rmq {

class ReportText {
 public:
  /// The memory stays the caller's.
  ReportText(char* memory, std::size_t bytes) : begin_(memory), at_(memory), end_(memory + bytes), limit_(end_) {}
  ReportText(const ReportText&) = delete;
  ReportText& operator=(const ReportText&) = delete;

  std::string_view text() const { return {begin_, static_cast<std::size_t>(at_ - begin_)}; }
  /// Whether there is room for another entry of a list, and the ends of all that is open. To be asked only for an entry
  /// that there is: a "no" leaves it out.
  bool has_room() {
    const bool room = limit_ - at_ > kReserve;
    left_out_ = left_out_ || !room;
    return room;
  }
  /// Whether has_room() has said "no".
  bool has_left_out() const { return left_out_; }
  /// From here on lists may take one part in `parts` of what is left: so that none takes the room of all that follow.
  void share(int parts) { limit_ = at_ + std::max((end_ - at_ - kReserve) / parts, std::ptrdiff_t{0}) + kReserve; }
  /// Whether something was cut: the text is no JSON then. Cannot happen where lists ask has_room().
  bool is_cut() const { return cut_; }

  void begin_object(std::string_view name = {}) { open(name, '{'); }
  void end_object() { close('}'); }
  void begin_list(std::string_view name = {}) { open(name, '['); }
  void end_list() { close(']'); }

  void field(std::string_view name, std::string_view value) {
    key(name);
    string(value);
  }
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  template <std::integral T>
  void field(std::string_view name, T value) {
    key(name);
    number(value);
  }
  template <std::integral T>
  void entry(T value) {
    separate();
    number(value);
  }

 private:
  static constexpr std::ptrdiff_t kReserve = 2048;

  void put(std::string_view text) {
    const std::size_t room = static_cast<std::size_t>(end_ - at_);
    cut_ = cut_ || text.size() > room;
    const std::size_t n = std::min(text.size(), room);
    std::memcpy(at_, text.data(), n);
    at_ += n;
  }
  void put(char c) { put(std::string_view(&c, 1)); }
  void separate() {
    if (comma_) put(',');
    comma_ = true;
  }
  void key(std::string_view name) {
    separate();
    if (name.empty()) return;
    string(name);
    put(':');
  }
  void open(std::string_view name, char bracket) {
    key(name);
    put(bracket);
    comma_ = false;
  }
  void close(char bracket) {
    put(bracket);
    comma_ = true;
  }
  template <std::integral T>
  void number(T value) {
    if constexpr (std::same_as<T, bool>) {
      put(value ? std::string_view("true") : std::string_view("false"));
    } else {
      char digits[24];
      put({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
    }
  }
  /// Names come from the program: whatever is not plain text becomes a question mark.
  void string(std::string_view text) {
    put('"');
    for (const char c : text.substr(0, 256)) put(c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c);
    put('"');
  }

  char* begin_;
  char* at_;
  char* end_;
  char* limit_;  // of lists, kReserve before it
  bool left_out_ = false;
  bool comma_ = false;
  bool cut_ = false;
};

}  // namespace rmq
