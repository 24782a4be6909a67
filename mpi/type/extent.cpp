// SPDX-License-Identifier: BSD-3-Clause
// Sizes and bounds of types. What a result of type int cannot hold is MPI_UNDEFINED.
#include <limits>

#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

template <class Int>
void get_size(MPI_Datatype datatype, Int* size) {
  const std::uint64_t bytes = type_arg(datatype).size;
  *out(size, "size") =
      bytes <= static_cast<std::uint64_t>(std::numeric_limits<Int>::max()) ? static_cast<Int>(bytes) : MPI_UNDEFINED;
}

void get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  const Layout& layout = *type_arg(datatype).layout;
  *out(lb, "lb") = layout.lb();
  *out(extent, "extent") = layout.extent();
}

void get_true_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  const Layout& layout = *type_arg(datatype).layout;
  *out(lb, "true_lb") = layout.true_lb();
  *out(extent, "true_extent") = layout.true_extent();
}

}  // namespace

RMQ_MPI(int, Type_size, (MPI_Datatype datatype, int* size)) {
  return enter([&] { get_size(datatype, size); });
}

RMQ_MPI(int, Type_size_c, (MPI_Datatype datatype, MPI_Count* size)) {
  return enter([&] { get_size(datatype, size); });
}

RMQ_MPI(int, Type_size_x, (MPI_Datatype datatype, MPI_Count* size)) {
  return enter([&] { get_size(datatype, size); });
}

RMQ_MPI(int, Type_get_extent, (MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent)) {
  return enter([&] { get_extent(datatype, lb, extent); });
}

RMQ_MPI(int, Type_get_extent_c, (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)) {
  return enter([&] { get_extent(datatype, lb, extent); });
}

RMQ_MPI(int, Type_get_extent_x, (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)) {
  return enter([&] { get_extent(datatype, lb, extent); });
}

RMQ_MPI(int, Type_get_true_extent, (MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent)) {
  return enter([&] { get_true_extent(datatype, true_lb, true_extent); });
}

RMQ_MPI(int, Type_get_true_extent_c, (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent)) {
  return enter([&] { get_true_extent(datatype, true_lb, true_extent); });
}

RMQ_MPI(int, Type_get_true_extent_x, (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent)) {
  return enter([&] { get_true_extent(datatype, true_lb, true_extent); });
}

RMQ_MPI(int, Type_extent, (MPI_Datatype datatype, MPI_Aint* extent)) {
  return enter([&] { *out(extent, "extent") = type_arg(datatype).layout->extent(); });
}

RMQ_MPI(int, Type_lb, (MPI_Datatype datatype, MPI_Aint* displacement)) {
  return enter([&] { *out(displacement, "displacement") = type_arg(datatype).layout->lb(); });
}

RMQ_MPI(int, Type_ub, (MPI_Datatype datatype, MPI_Aint* displacement)) {
  return enter([&] {
    const Layout& layout = *type_arg(datatype).layout;
    *out(displacement, "displacement") = layout.lb() + layout.extent();
  });
}

}  // namespace rmq::mpi
