// SPDX-License-Identifier: BSD-3-Clause
// What collectives move: a buffer, or one block of a larger buffer for each rank.
#pragma once

#include <cstdint>

#include "base/data/copy.hpp"
#include "engine/object/datatypes.hpp"

namespace rmq::mpi::coll {

/// Whether a buffer argument is MPI_IN_PLACE, told without making a pointer of the number.
inline bool is_in_place(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) == ~std::uintptr_t{0};
}

inline std::uint64_t bytes_of(const Buffer& b) {
  return static_cast<std::uint64_t>(b.count) * b.type->size;
}

inline const Datatype& byte_type() {
  return *builtin_types[MPI_BYTE & 0xff];
}

/// `n` bytes as they are.
inline Buffer raw(const void* data, std::uint64_t n) {
  return {const_cast<void*>(data), static_cast<MPI_Count>(n), &byte_type()};
}

inline Buffer nothing() {
  return raw(nullptr, 0);
}

/// Address of element `index` of an array of `type` at `base`.
inline void* element(const void* base, MPI_Count index, const Datatype& type) {
  return moved(static_cast<std::byte*>(const_cast<void*>(base)), index * type.layout->extent());
}

/// Elements [first, first + count) of a buffer.
inline Buffer part(const Buffer& b, MPI_Count first, MPI_Count count) {
  return {element(b.data, first, *b.type), count, b.type};
}

inline DataView view_of(const Buffer& b) {
  return mpi::view_of(*b.type, b.data, b.count);
}

/// One number for each rank: an array of int or of 64-bit numbers as MPI passes them, or a rule without an array.
/// Refers to the caller's array.
class Numbers {
 public:
  explicit Numbers(const int* array) : narrow_(array) {}
  explicit Numbers(const MPI_Count* array) : wide_(array) {}  // MPI_Aint is the same type
  /// first + i * step for rank i.
  Numbers(MPI_Count first, MPI_Count step) : first_(first), step_(step) {}

  MPI_Count operator[](int i) const {
    if (narrow_) return narrow_[i];
    if (wide_) return wide_[i];
    return first_ + i * step_;
  }
  bool has_rule() const { return !narrow_ && !wide_; }

 private:
  const int* narrow_ = nullptr;
  const MPI_Count* wide_ = nullptr;
  MPI_Count first_ = 0;
  MPI_Count step_ = 0;
};

/// One block of a buffer for each rank. Refers to the caller's arrays.
class Blocks {
 public:
  /// `count` elements for each rank, one rank's behind the other's.
  static Blocks uniform(const void* base, MPI_Count count, const Datatype& type) {
    return {base, Numbers(count, 0), Numbers(0, count), &type, nullptr};
  }
  /// counts[i] elements that start displacements[i] elements behind the base.
  static Blocks spread(const void* base, Numbers counts, Numbers displacements, const Datatype& type) {
    return {base, counts, displacements, &type, nullptr};
  }
  /// counts[i] elements of types[i] that start displacements[i] bytes behind the base.
  static Blocks typed(const void* base, Numbers counts, Numbers displacements, const Datatype* const* types) {
    return {base, counts, displacements, nullptr, types};
  }

  Buffer operator[](int i) const {
    if (type_) return {element(base_, displacements_[i], *type_), counts_[i], type_};
    return {moved(static_cast<std::byte*>(base_), displacements_[i]), counts_[i], types_[i]};
  }
  std::uint64_t bytes(int i) const {
    return static_cast<std::uint64_t>(counts_[i]) * (type_ ? type_ : types_[i])->size;
  }
  std::uint64_t total_bytes(int ranks) const {
    if (is_uniform()) return static_cast<std::uint64_t>(ranks) * bytes(0);
    std::uint64_t sum = 0;
    for (int i = 0; i < ranks; ++i) sum += bytes(i);
    return sum;
  }
  /// Whether all ranks' blocks have the same size and lie one behind the other. Decided by which MPI function was
  /// called, hence the same on every rank.
  bool is_uniform() const { return counts_.has_rule() && displacements_.has_rule() && type_; }
  /// The blocks of ranks [first, first + n) as one buffer. Only when uniform.
  Buffer run(int first, int n) const { return {element(base_, displacements_[first], *type_), n * counts_[0], type_}; }
  bool in_place() const { return is_in_place(base_); }

  const Numbers& counts() const { return counts_; }
  const Numbers& displacements() const { return displacements_; }
  const Datatype* type() const { return type_; }
  const Datatype* const* types() const { return types_; }
  /// The same, described by arrays that live elsewhere.
  Blocks with(const Numbers& counts, const Numbers& displacements, const Datatype* const* types) const {
    return {base_, counts, displacements, type_, types};
  }

 private:
  Blocks(const void* base, Numbers counts, Numbers displacements, const Datatype* type, const Datatype* const* types)
      : base_(const_cast<void*>(base)), counts_(counts), displacements_(displacements), type_(type), types_(types) {}

  void* base_;
  Numbers counts_;
  Numbers displacements_;         // elements, or bytes where each block has its own type
  const Datatype* type_;          // of all blocks; nullptr: each has its own
  const Datatype* const* types_;  // of each block
};

/// Blocks that are not one for each rank, but `count` of them.
struct List {
  Blocks blocks;
  int count;
};

}  // namespace rmq::mpi::coll
