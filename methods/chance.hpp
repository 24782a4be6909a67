// SPDX-License-Identifier: BSD-3-Clause
// Reproducible chance for simulation and tests: the same seed gives the same draws on every machine and library, which
// the distributions of <random> do not promise. SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014). Not for secrets. Not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace rmq::methods {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// One of 0 … n-1; n must not be 0. The modulo's bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return next() % n; }

  /// One of low … high, both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

  /// True in `permille` of 1,000 draws. 0 and below draw nothing, so that plain runs use no randomness at all.
  bool in(int permille) { return permille > 0 && below(1000) < static_cast<std::uint64_t>(permille); }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace rmq::methods
