// SPDX-License-Identifier: BSD-3-Clause
// Types of irregularly spaced blocks of one type.
#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

template <class Int>
std::vector<std::int64_t> distances(const Int* elements, MPI_Count n, std::int64_t extent) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = element_distance(elements[i], extent);
  return bytes;
}

std::span<const std::int64_t> span_of(const MPI_Aint* values, MPI_Count n) {
  return {values, static_cast<std::size_t>(n)};
}

template <class Int>
void make_indexed(Int count, const Int* blocklengths, const Int* displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
  count_arg(count);
  const auto lengths = lengths_arg(blocklengths, count, "array_of_blocklengths");
  array_arg(displacements, count, "array_of_displacements");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_INDEXED);
  arguments.count(count).counts(blocklengths, count).counts(displacements, count).type(of);
  const auto places = distances(displacements, count, of.layout->extent());
  publish_type(newtype, Layout::hindexed(lengths, places, *of.layout), arguments.take());
}

template <class Int>
void make_hindexed(Int count, const Int* blocklengths, const MPI_Aint* displacements, MPI_Datatype oldtype,
                   MPI_Datatype* newtype) {
  count_arg(count);
  const auto lengths = lengths_arg(blocklengths, count, "array_of_blocklengths");
  array_arg(displacements, count, "array_of_displacements");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_HINDEXED);
  arguments.count(count).counts(blocklengths, count).addresses(displacements, count).type(of);
  publish_type(newtype, Layout::hindexed(lengths, span_of(displacements, count), *of.layout), arguments.take());
}

template <class Int>
void make_indexed_block(Int count, Int blocklength, const Int* displacements, MPI_Datatype oldtype,
                        MPI_Datatype* newtype) {
  count_arg(count);
  count_arg(blocklength, "blocklength");
  array_arg(displacements, count, "array_of_displacements");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_INDEXED_BLOCK);
  arguments.count(count).count(blocklength).counts(displacements, count).type(of);
  const auto places = distances(displacements, count, of.layout->extent());
  const std::vector<std::uint64_t> lengths(places.size(), static_cast<std::uint64_t>(blocklength));
  publish_type(newtype, Layout::hindexed(lengths, places, *of.layout), arguments.take());
}

template <class Int>
void make_hindexed_block(Int count, Int blocklength, const MPI_Aint* displacements, MPI_Datatype oldtype,
                         MPI_Datatype* newtype) {
  count_arg(count);
  count_arg(blocklength, "blocklength");
  array_arg(displacements, count, "array_of_displacements");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_HINDEXED_BLOCK);
  arguments.count(count).count(blocklength).addresses(displacements, count).type(of);
  const auto places = span_of(displacements, count);
  const std::vector<std::uint64_t> lengths(places.size(), static_cast<std::uint64_t>(blocklength));
  publish_type(newtype, Layout::hindexed(lengths, places, *of.layout), arguments.take());
}

}  // namespace

RMQ_MPI(int, Type_indexed,
        (int count, const int blocklengths[], const int displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_indexed(count, blocklengths, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_indexed_c,
        (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displacements[], MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_indexed(count, blocklengths, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hindexed,
        (int count, const int blocklengths[], const MPI_Aint displacements[], MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_hindexed(count, blocklengths, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hindexed_c,
        (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displacements[], MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_hindexed(count, blocklengths, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_hindexed,
        (int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_hindexed<int>(count, blocklengths, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_indexed_block,
        (int count, int blocklength, const int displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_indexed_block(count, blocklength, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_indexed_block_c,
        (MPI_Count count, MPI_Count blocklength, const MPI_Count displacements[], MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_indexed_block(count, blocklength, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hindexed_block,
        (int count, int blocklength, const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_hindexed_block(count, blocklength, displacements, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hindexed_block_c,
        (MPI_Count count, MPI_Count blocklength, const MPI_Count displacements[], MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_hindexed_block(count, blocklength, displacements, oldtype, newtype); });
}

}  // namespace rmq::mpi
