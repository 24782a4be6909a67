// SPDX-License-Identifier: BSD-3-Clause
// How a type was made: envelope and contents.
#include <algorithm>

#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

/// How many arguments of each kind a type was made with.
struct Envelope {
  MPI_Count integers;
  MPI_Count addresses;
  MPI_Count large_counts;
  MPI_Count types;
};

Envelope envelope_of(const Datatype& type) {
  const TypeContents& contents = type.contents;
  const auto addresses = static_cast<MPI_Count>(contents.addresses.size());
  const bool large = has_large_counts(type);
  return {static_cast<MPI_Count>(contents.integers.size()), large ? 0 : addresses, large ? addresses : 0,
          static_cast<MPI_Count>(contents.types.size())};
}

/// For the functions that have no room for large counts.
Datatype& small_type_arg(MPI_Datatype handle, const char* instead) {
  Datatype& type = type_arg(handle);
  if (envelope_of(type).large_counts > 0) {
    fail_call(MPI_ERR_TYPE, std::string("argument datatype was made with large counts: use ") + instead);
  }
  return type;
}

void check_room(MPI_Count max, MPI_Count needed, const void* array, const char* name) {
  if (max < needed) {
    fail_call(MPI_ERR_ARG, std::string("argument max_") + name + " is " + std::to_string(max) + ", the type has " +
                               std::to_string(needed));
  }
  if (needed > 0) array_arg(static_cast<const std::byte*>(array), needed, name);
}

void copy_contents(const Datatype& type, int* integers, MPI_Datatype* types) {
  if (combiner_of(type) == MPI_COMBINER_NAMED) {
    fail_call(MPI_ERR_TYPE, "argument datatype is predefined: it has no contents");
  }
  const TypeContents& contents = type.contents;
  std::transform(contents.integers.begin(), contents.integers.end(), integers,
                 [](MPI_Count value) { return static_cast<int>(value); });
  std::transform(contents.types.begin(), contents.types.end(), types, [](Datatype* part) {
    type_retain(*part);  // the caller frees derived ones
    return part->handle;
  });
}

}  // namespace

RMQ_MPI(int, Type_get_envelope,
        (MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes, int* combiner)) {
  return enter([&] {
    const Datatype& type = small_type_arg(datatype, "MPI_Type_get_envelope_c");
    const Envelope envelope = envelope_of(type);
    *out(num_integers, "num_integers") = static_cast<int>(envelope.integers);
    *out(num_addresses, "num_addresses") = static_cast<int>(envelope.addresses);
    *out(num_datatypes, "num_datatypes") = static_cast<int>(envelope.types);
    *out(combiner, "combiner") = combiner_of(type);
  });
}

RMQ_MPI(int, Type_get_envelope_c,
        (MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses, MPI_Count* num_large_counts,
         MPI_Count* num_datatypes, int* combiner)) {
  return enter([&] {
    const Datatype& type = type_arg(datatype);
    const Envelope envelope = envelope_of(type);
    *out(num_integers, "num_integers") = envelope.integers;
    *out(num_addresses, "num_addresses") = envelope.addresses;
    *out(num_large_counts, "num_large_counts") = envelope.large_counts;
    *out(num_datatypes, "num_datatypes") = envelope.types;
    *out(combiner, "combiner") = combiner_of(type);
  });
}

RMQ_MPI(int, Type_get_contents,
        (MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes, int integers[],
         MPI_Aint addresses[], MPI_Datatype types[])) {
  return enter([&] {
    const Datatype& type = small_type_arg(datatype, "MPI_Type_get_contents_c");
    const Envelope envelope = envelope_of(type);
    check_room(max_integers, envelope.integers, integers, "integers");
    check_room(max_addresses, envelope.addresses, addresses, "addresses");
    check_room(max_datatypes, envelope.types, types, "datatypes");
    copy_contents(type, integers, types);
    std::copy(type.contents.addresses.begin(), type.contents.addresses.end(), addresses);
  });
}

RMQ_MPI(int, Type_get_contents_c,
        (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
         MPI_Count max_datatypes, int integers[], MPI_Aint addresses[], MPI_Count large_counts[],
         MPI_Datatype types[])) {
  return enter([&] {
    const Datatype& type = type_arg(datatype);
    const Envelope envelope = envelope_of(type);
    check_room(max_integers, envelope.integers, integers, "integers");
    check_room(max_addresses, envelope.addresses, addresses, "addresses");
    check_room(max_large_counts, envelope.large_counts, large_counts, "large_counts");
    check_room(max_datatypes, envelope.types, types, "datatypes");
    copy_contents(type, integers, types);
    MPI_Aint* const to = has_large_counts(type) ? large_counts : addresses;
    std::copy(type.contents.addresses.begin(), type.contents.addresses.end(), to);
  });
}

}  // namespace rmq::mpi
