// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack_external and its kin: packing in a representation that every implementation of MPI reads.
#include <cstring>

#include "mpi/define.hpp"
#include "mpi/type/external.hpp"

namespace rmq::mpi {
namespace {

void check_representation(const char* datarep) {
  if (std::strcmp(out(datarep, "datarep"), "external32") != 0) {
    fail_call(MPI_ERR_UNSUPPORTED_DATAREP,
              std::string("argument datarep is \"") + datarep + "\", only \"external32\" is known");
  }
}

/// `bytes` bytes of the buffer from position on.
std::byte* piece_at(const void* data, MPI_Aint size, MPI_Aint position, std::uint64_t bytes, const char* name) {
  if (position < 0 || position > size || static_cast<std::uint64_t>(size - position) < bytes) {
    fail_call(MPI_ERR_TRUNCATE, std::to_string(bytes) + " bytes do not fit argument " + name + " of " +
                                    std::to_string(size) + " bytes from position " + std::to_string(position));
  }
  if (!data && bytes > 0) detail::null_argument(MPI_ERR_BUFFER, name);
  return static_cast<std::byte*>(const_cast<void*>(data)) + position;
}

void pack(const char* datarep, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
          MPI_Aint outsize, MPI_Aint* position) {
  check_representation(datarep);
  const Buffer in = buffer_arg(inbuf, incount, datatype, "inbuf", "incount");
  const std::uint64_t bytes = external_bytes(*in.type, in.count);
  pack_external(piece_at(outbuf, outsize, *out(position, "position"), bytes, "outbuf"), *in.type, in.data, in.count);
  *position += static_cast<MPI_Aint>(bytes);
}

void unpack(const char* datarep, const void* inbuf, MPI_Aint insize, MPI_Aint* position, void* outbuf,
            MPI_Count outcount, MPI_Datatype datatype) {
  check_representation(datarep);
  const Buffer to = buffer_arg(outbuf, outcount, datatype, "outbuf", "outcount");
  const std::uint64_t bytes = external_bytes(*to.type, to.count);
  unpack_external(*to.type, to.data, to.count, piece_at(inbuf, insize, *out(position, "position"), bytes, "inbuf"));
  *position += static_cast<MPI_Aint>(bytes);
}

void size(const char* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Aint* bytes) {
  check_representation(datarep);
  const Datatype& type = committed_arg(datatype);
  bytes_arg(type, count_arg(incount, "incount"), "incount");
  *out(bytes, "size") = static_cast<MPI_Aint>(external_bytes(type, incount));
}

}  // namespace

RMQ_MPI(int, Pack_external,
        (const char* datarep, const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, MPI_Aint outsize,
         MPI_Aint* position)) {
  return enter([&] { pack(datarep, inbuf, incount, datatype, outbuf, outsize, position); });
}

RMQ_MPI(int, Pack_external_c,
        (const char* datarep, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
         MPI_Count outsize, MPI_Count* position)) {
  return enter([&] { pack(datarep, inbuf, incount, datatype, outbuf, outsize, position); });
}

RMQ_MPI(int, Unpack_external,
        (const char* datarep, const void* inbuf, MPI_Aint insize, MPI_Aint* position, void* outbuf, int outcount,
         MPI_Datatype datatype)) {
  return enter([&] { unpack(datarep, inbuf, insize, position, outbuf, outcount, datatype); });
}

RMQ_MPI(int, Unpack_external_c,
        (const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
         MPI_Count outcount, MPI_Datatype datatype)) {
  return enter([&] { unpack(datarep, inbuf, insize, position, outbuf, outcount, datatype); });
}

RMQ_MPI(int, Pack_external_size, (const char* datarep, int incount, MPI_Datatype datatype, MPI_Aint* bytes)) {
  return enter([&] { size(datarep, incount, datatype, bytes); });
}

RMQ_MPI(int, Pack_external_size_c, (const char* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count* bytes)) {
  return enter([&] { size(datarep, incount, datatype, bytes); });
}

}  // namespace rmq::mpi
