// SPDX-License-Identifier: BSD-3-Clause
// What every fuzzer here has: an entry that libFuzzer or the driver (replay.cpp) calls, seeds to start from, and a way
// to read its input as a script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// Runs one input. Whatever it is, the code under test survives it; a broken promise aborts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace rmq::fuzz {

using Script = std::vector<std::uint8_t>;

/// Inputs that reach everything there is to reach, made from the declarations (base/packet/packet.def …), so that a new
/// packet has a seed at once. Each fuzzer defines it.
std::vector<Script> seeds();

/// A script from its beginning; behind its end everything is zero.
class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t bytes) : rest_(data, bytes) {}
  bool done() const { return rest_.empty(); }
  template <class T>
  T number() {
    T value{};
    const std::span<const std::uint8_t> some = bytes(sizeof value);
    if (!some.empty()) std::memcpy(&value, some.data(), some.size());
    return value;
  }
  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  /// One of 0 … below - 1.
  std::size_t pick(std::size_t below) { return u8() % below; }
  /// At most so many.
  std::span<const std::uint8_t> bytes(std::size_t most) {
    const std::span<const std::uint8_t> some = rest_.first(most < rest_.size() ? most : rest_.size());
    rest_ = rest_.subspan(some.size());
    return some;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Writes what a Reader reads.
class Writer {
 public:
  Writer& u8(std::size_t value) { return number(static_cast<std::uint8_t>(value)); }
  Writer& u16(std::size_t value) { return number(static_cast<std::uint16_t>(value)); }
  Writer& u32(std::size_t value) { return number(static_cast<std::uint32_t>(value)); }
  Writer& u64(std::uint64_t value) { return number(value); }
  Writer& text(std::string_view bytes) {
    script.insert(script.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Script script;

 private:
  template <class T>
  Writer& number(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    script.insert(script.end(), bytes, bytes + sizeof value);
    return *this;
  }
};

/// Ends the run when a promise is broken.
inline void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

}  // namespace rmq::fuzz
