// SPDX-License-Identifier: BSD-3-Clause
// Types of blocks of different types.
#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

template <class Int>
void make_struct(Int count, const Int* blocklengths, const MPI_Aint* displacements, const MPI_Datatype* types,
                 MPI_Datatype* newtype) {
  count_arg(count);
  const auto lengths = lengths_arg(blocklengths, count, "array_of_blocklengths");
  array_arg(displacements, count, "array_of_displacements");
  array_arg(types, count, "array_of_types");
  Arguments<Int> arguments(MPI_COMBINER_STRUCT);
  arguments.count(count).counts(blocklengths, count).addresses(displacements, count);
  std::vector<const Layout*> layouts;
  layouts.reserve(lengths.size());
  for (Int i = 0; i < count; ++i) {
    Datatype& of = type_arg(types[i], "array_of_types");
    arguments.type(of);
    layouts.push_back(of.layout.get());
  }
  const std::span<const std::int64_t> places(displacements, lengths.size());
  publish_type(newtype, Layout::structure(lengths, places, layouts), arguments.take());
}

}  // namespace

RMQ_MPI(int, Type_create_struct,
        (int count, const int blocklengths[], const MPI_Aint displacements[], const MPI_Datatype types[],
         MPI_Datatype* newtype)) {
  return enter([&] { make_struct(count, blocklengths, displacements, types, newtype); });
}

RMQ_MPI(int, Type_create_struct_c,
        (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displacements[], const MPI_Datatype types[],
         MPI_Datatype* newtype)) {
  return enter([&] { make_struct(count, blocklengths, displacements, types, newtype); });
}

RMQ_MPI(int, Type_struct,
        (int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype types[], MPI_Datatype* newtype)) {
  return enter([&] { make_struct<int>(count, blocklengths, displacements, types, newtype); });
}

}  // namespace rmq::mpi
