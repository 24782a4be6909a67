// SPDX-License-Identifier: BSD-3-Clause
// Data of the sweep: datatypes with known layouts, kinds of reductions with arithmetic of their own, and memory in
// which every byte has a known value, so that what is written beside the data is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/object/datatypes.hpp"

namespace rmq::testing {

using Bytes = std::vector<std::uint8_t>;

/// A datatype and where its bytes lie, relative to an element's origin, in the order of a message.
struct CollType {
  const char* name;
  mpi::Datatype type;
  std::vector<long> offsets;
  std::size_t size() const { return offsets.size(); }
  long extent() const { return type.layout->extent(); }
};

/// What a reduction does, as the test computes it: on packed elements.
struct CollOp {
  const char* name;
  const CollType* type;
  mpi::Op op;
  /// result = left op right; they may be the same.
  void (*combine)(const std::uint8_t* left, const std::uint8_t* right, std::uint8_t* result);
  void (*operand)(int member, long element, std::uint8_t* value);
};

/// Types for data that only moves: dense, with gaps, with a lower bound below 0, growing downwards, without data.
const std::vector<CollType>& moved_types();
/// Predefined and user's operations, with and without commutation, exact and rounded, dense and with gaps.
const std::vector<CollOp>& reductions();

/// Memory for `count` elements with a margin on both sides.
class Area {
 public:
  Area() = default;
  Area(const CollType& type, long count);
  /// The address that MPI is given.
  void* data() { return bytes_.data() + origin_; }
  /// Packed elements lie there from the beginning, from element `first` on.
  void put(long first, const std::uint8_t* packed, long count) {
    write(bytes_, first, packed, count), write(known_, first, packed, count);
  }
  /// They must lie there at the end.
  void expect(long first, const std::uint8_t* packed, long count) { write(known_, first, packed, count); }
  /// What lies there at the end does not matter.
  void ignore(long first, long count);
  /// Where the memory differs from what it should be; nothing when it does not.
  std::string fault() const;

 private:
  void write(Bytes& to, long first, const std::uint8_t* packed, long count) const;
  const CollType* type_ = nullptr;
  long origin_ = 0;
  Bytes bytes_, known_;
  std::vector<std::size_t> ignored_;
};

}  // namespace rmq::testing
