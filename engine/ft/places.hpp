// SPDX-License-Identifier: BSD-3-Clause
// A set of members of a communicator, each by its place: one bit a member.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rmq::mpi::ft {

class Places {
 public:
  Places() = default;
  /// Empty; of a communicator with so many members.
  explicit Places(int size) : words_((static_cast<std::size_t>(size) + 63) / 64) {}
  /// Of the words of another one.
  explicit Places(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

  bool has(int place) const { return (word(place) >> (place % 64) & 1) != 0; }
  void add(int place) { words_[static_cast<std::size_t>(place) / 64] |= std::uint64_t{1} << (place % 64); }
  int count() const {
    int n = 0;
    for (const std::uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  bool empty() const { return count() == 0; }
  /// Those of a set of the same size, too.
  void add(const Places& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  /// Whether each of these is in a set of the same size.
  bool within(const Places& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & ~other.words_[i]) != 0) return false;
    return true;
  }
  bool operator==(const Places&) const = default;
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::uint64_t word(int place) const { return words_[static_cast<std::size_t>(place) / 64]; }

  std::vector<std::uint64_t> words_;
};

}  // namespace rmq::mpi::ft
