// SPDX-License-Identifier: BSD-3-Clause
// FNV-1a, a hash of 64 bits that is the same in every process and on every machine (G. Fowler, L. C. Noll, K.-P. Vo).
// Not for what a stranger chooses.
#pragma once

#include <cstdint>
#include <string_view>

namespace rmq {

class Fnv {
 public:
  constexpr Fnv& bytes(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    return *this;
  }
  /// The lowest `bits` of a word, of 8 each, the lowest first.
  constexpr Fnv& word(std::uint64_t word, int bits = 64) {
    for (int shift = 0; shift < bits; shift += 8) byte(word >> shift & 0xff);
    return *this;
  }
  constexpr std::uint64_t value() const { return hash_; }

 private:
  constexpr void byte(std::uint64_t b) { hash_ = (hash_ ^ b) * 0x100000001b3u; }

  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace rmq
