// SPDX-License-Identifier: BSD-3-Clause
// What the constructors of derived types share: checking and widening their arguments, remembering them for
// MPI_Type_get_contents, and publishing the result. Constructors come in pairs, with counts of type int and MPI_Count;
// each pair is one template over that type. Everything here throws Failure and runs under the device's Entry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/call/call.hpp"
#include "engine/object/datatypes.hpp"

namespace rmq::mpi {

/// In TypeContents::combiner: made by a large-count constructor, whose counts stand in `addresses`.
inline constexpr int kLargeCounts = 0x100;

inline int combiner_of(const Datatype& type) {
  return type.contents.combiner & ~kLargeCounts;
}
inline bool has_large_counts(const Datatype& type) {
  return (type.contents.combiner & kLargeCounts) != 0;
}

/// The arguments of a constructor with counts of type Int, noted in the standard's order.
template <class Int>
class Arguments {
 public:
  static constexpr bool kLarge = std::is_same_v<Int, MPI_Count>;

  explicit Arguments(int combiner) { contents_.combiner = combiner | (kLarge ? kLargeCounts : 0); }

  /// What is an integer in either form.
  Arguments& integer(int value) {
    contents_.integers.push_back(value);
    return *this;
  }
  Arguments& integers(const int* values, MPI_Count n) {
    contents_.integers.insert(contents_.integers.end(), values, values + n);
    return *this;
  }
  /// What is an integer in the one form and a large count in the other.
  Arguments& count(Int value) { return counts(&value, 1); }
  Arguments& counts(const Int* values, MPI_Count n) {
    auto& list = kLarge ? contents_.addresses : contents_.integers;
    list.insert(list.end(), values, values + n);
    return *this;
  }
  /// What is an address in the one form and a large count in the other.
  Arguments& address(MPI_Aint value) { return addresses(&value, 1); }
  Arguments& addresses(const MPI_Aint* values, MPI_Count n) {
    contents_.addresses.insert(contents_.addresses.end(), values, values + n);
    return *this;
  }
  Arguments& type(Datatype& t) {
    contents_.types.push_back(&t);
    return *this;
  }
  TypeContents take() { return std::move(contents_); }

 private:
  TypeContents contents_;
};

/// A new derived type for the output argument `newtype`; null is refused.
inline void publish_type(MPI_Datatype* newtype, LayoutRef layout, TypeContents contents) {
  *out(newtype, "newtype") = MPI_DATATYPE_NULL;
  *newtype = make_type(std::move(layout), std::move(contents)).handle;
}

/// An array argument of `n` entries; null is refused unless n is 0.
template <class T>
const T* array_arg(const T* values, MPI_Count n, const char* name) {
  if (!values && n > 0) [[unlikely]]
    detail::null_argument(MPI_ERR_ARG, name);
  return values;
}

/// An array of block lengths; negative ones are refused.
template <class Int>
std::vector<std::uint64_t> lengths_arg(const Int* values, MPI_Count n, const char* name) {
  array_arg(values, n, name);
  for (MPI_Count i = 0; i < n; ++i) {
    if (values[i] < 0) [[unlikely]] {
      fail_call(MPI_ERR_COUNT, std::string("argument ") + name + " has a negative entry, " + std::to_string(values[i]));
    }
  }
  return std::vector<std::uint64_t>(values, values + n);
}

/// Refuses what is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN.
void check_order(int order);

}  // namespace rmq::mpi
