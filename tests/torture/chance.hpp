// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are the same with every compiler and library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace torture {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}

  std::uint32_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::uint32_t>(x >> 32);
  }
  /// 0 … n - 1.
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint32_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  int of(std::initializer_list<int> list) { return *std::next(list.begin(), below(static_cast<int>(list.size()))); }

 private:
  std::uint64_t state_;
};

}  // namespace torture
