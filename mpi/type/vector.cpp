// SPDX-License-Identifier: BSD-3-Clause
// Types of regularly spaced blocks, and types with new bounds.
#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

std::uint64_t length_arg(MPI_Count value, const char* name) {
  return static_cast<std::uint64_t>(count_arg(value, name));
}

template <class Int>
void make_contiguous(Int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const std::uint64_t elements = length_arg(count, "count");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_CONTIGUOUS);
  arguments.count(count).type(of);
  publish_type(newtype, Layout::contiguous(elements, *of.layout), arguments.take());
}

template <class Int>
void make_vector(Int count, Int blocklength, Int stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const std::uint64_t blocks = length_arg(count, "count");
  const std::uint64_t length = length_arg(blocklength, "blocklength");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_VECTOR);
  arguments.count(count).count(blocklength).count(stride).type(of);
  const std::int64_t distance = element_distance(stride, of.layout->extent());
  publish_type(newtype, Layout::hvector(blocks, length, distance, *of.layout), arguments.take());
}

template <class Int>
void make_hvector(Int count, Int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const std::uint64_t blocks = length_arg(count, "count");
  const std::uint64_t length = length_arg(blocklength, "blocklength");
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_HVECTOR);
  arguments.count(count).count(blocklength).address(stride).type(of);
  publish_type(newtype, Layout::hvector(blocks, length, stride, *of.layout), arguments.take());
}

template <class Int>
void make_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
  Datatype& of = type_arg(oldtype, "oldtype");
  Arguments<Int> arguments(MPI_COMBINER_RESIZED);
  arguments.address(lb).address(extent).type(of);
  publish_type(newtype, Layout::resized(*of.layout, lb, extent), arguments.take());
}

}  // namespace

RMQ_MPI(int, Type_contiguous, (int count, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_contiguous<int>(count, oldtype, newtype); });
}

RMQ_MPI(int, Type_contiguous_c, (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_contiguous<MPI_Count>(count, oldtype, newtype); });
}

RMQ_MPI(int, Type_vector, (int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_vector<int>(count, blocklength, stride, oldtype, newtype); });
}

RMQ_MPI(int, Type_vector_c,
        (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_vector<MPI_Count>(count, blocklength, stride, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hvector,
        (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_hvector<int>(count, blocklength, stride, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_hvector_c,
        (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_hvector<MPI_Count>(count, blocklength, stride, oldtype, newtype); });
}

RMQ_MPI(int, Type_hvector, (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_hvector<int>(count, blocklength, stride, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_resized, (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype)) {
  return enter([&] { make_resized<int>(oldtype, lb, extent, newtype); });
}

RMQ_MPI(int, Type_create_resized_c, (MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype)) {
  return enter([&] { make_resized<MPI_Count>(oldtype, lb, extent, newtype); });
}

}  // namespace rmq::mpi
