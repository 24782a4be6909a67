// SPDX-License-Identifier: BSD-3-Clause
// The members of a group as world ranks, in order. Ranks that follow a rule, as those of MPI_COMM_WORLD do, its
// duplicates, and every k-th of it, are computed and cost nothing; others are a list, which copies share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/rank.hpp"

namespace rmq {

class Ranks {
 public:
  Ranks() = default;
  /// first, first + stride …: `count` of them, none negative.
  static Ranks rule(Rank first, int count, int stride = 1) {
    Ranks r;
    r.first_ = first;
    r.stride_ = stride;
    r.size_ = count;
    return r;
  }
  /// Any, each at most once. Finds the rule by itself where there is one.
  Ranks(std::vector<Rank> list);
  Ranks(std::initializer_list<Rank> list) : Ranks(std::vector<Rank>(list)) {}

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Whether there is no list behind it.
  bool is_rule() const { return list_ == nullptr; }
  Rank operator[](int i) const { return list_ ? list_[i] : first_ + i * stride_; }
  /// Where a world rank stands; -1: it is no member. Constant with a rule, else logarithmic, and the first call sorts;
  /// no two threads may do that at once.
  int place_of(Rank world) const {
    if (list_) return find(world);
    const int distance = world - first_, place = stride_ == 1 ? distance : distance / stride_;
    return place >= 0 && place < size_ && place * stride_ == distance ? place : -1;
  }
  bool operator==(const Ranks& other) const;

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Rank;
    using difference_type = std::ptrdiff_t;
    using pointer = const Rank*;
    using reference = Rank;
    Iterator() = default;
    Iterator(const Ranks& of, int at) : of_(&of), at_(at) {}
    Rank operator*() const { return (*of_)[at_]; }
    Rank operator[](difference_type n) const { return (*of_)[at_ + static_cast<int>(n)]; }
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this += -1; }
    Iterator operator--(int) { return std::exchange(*this, *this + -1); }
    Iterator& operator+=(difference_type n) { return at_ += static_cast<int>(n), *this; }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator a, difference_type n) { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const Ranks* of_ = nullptr;
    int at_ = 0;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }
  /// As a list of its own.
  std::vector<Rank> list() const { return {begin(), end()}; }

  /// Where a debugger finds the fields: base/record/debug_root.hpp.
  struct Offsets {
    std::uint32_t list, first, stride, size;
  };
  static constexpr Offsets offsets_for_debugger();

 private:
  struct Shared;
  int find(Rank world) const;

  const Rank* list_ = nullptr;  // of shared_; nullptr: the rule holds
  Rank first_ = 0;
  int stride_ = 1;
  int size_ = 0;
  std::shared_ptr<Shared> shared_;
};

constexpr Ranks::Offsets Ranks::offsets_for_debugger() {
  return {offsetof(Ranks, list_), offsetof(Ranks, first_), offsetof(Ranks, stride_), offsetof(Ranks, size_)};
}

}  // namespace rmq
