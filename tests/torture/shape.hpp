// SPDX-License-Identifier: BSD-3-Clause
// A random derived datatype of words: how it is made, and where its data lies.
#pragma once

#include <vector>

#include "plan.hpp"

namespace torture {

class Shape {
 public:
  Shape() = default;  // one word, contiguous
  /// 1, 2, 3, 4, 6, 12, 16, 24, 48 … words that do not overlap: nested, with holes, with negative strides, resized.
  explicit Shape(Chance& chance);
  /// So many words that touch each other, as one element that need not begin where its buffer does.
  Shape(Chance& chance, int words);

  bool plain() const { return levels_.empty(); }
  int size() const { return static_cast<int>(layout_.size()); }
  int extent() const { return ub_ - lb_; }
  /// The word of a buffer at which `count` elements start, and how many words that buffer has.
  int origin() const { return -low_; }
  int words(int count) const { return count == 0 ? 0 : (count - 1) * extent() + high_ - low_; }

  /// Makes and commits the type with objects `object(id, n)` and `n + 1`.
  void make(Face& face, int id, int n) const;
  void free(Face& face, int id, int n) const;
  Type type(int id, int n) const { return {plain() ? -1 : object(id, n + 1)}; }
  Layout layout(int id, int n) const { return {plain() ? -1 : object(id, n + 1)}; }

 private:
  enum class Kind {
    vector,
    indexed,
    blocks_of,
    hvector,
    hindexed,
    hblock,
    structure,
    contiguous,
    subarray,
    darray,
    resized,
    dup
  };
  struct Level {
    Kind kind;
    int count = 1;
    int block = 1;
    int stride = 1;
    std::vector<int> at;  // displacements, elements
    std::vector<int> blocks;
    int lb = 0, ub = 0;                    // words, of a resized one
    std::vector<long> bytes;               // displacements
    std::vector<int> sizes, parts, begin;  // of an array and a part of it
    std::vector<int> over;                 // so many processes each way is it spread, of which this is the part …
    int place = 0;                         // … of this one
  };
  void add(Chance& chance, int count, int block);
  /// Many runs of several lengths.
  void add_runs(Chance& chance);
  void place(const std::vector<int>& starts, const std::vector<int>& blocks);
  void finish(Chance& chance);
  void call(Face& face, const Level& level, Type from, TypeRef to, int id, int n) const;
  std::vector<int> array_part(Chance& chance, Level& level);
  void spread(Chance& chance, Level& level);
  void vary(Chance& chance, Level& level, long extent);

  std::vector<Level> levels_;
  std::vector<int> layout_{0};
  int lb_ = 0, ub_ = 1;     // words
  int low_ = 0, high_ = 1;  // of the data
};

}  // namespace torture
