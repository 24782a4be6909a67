// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and MPI_Unpack: packed data is the type's data bytes in type-map order and nothing else.
#include <limits>

#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// A packing buffer of `size` bytes, used from `*position` on.
template <class Int>
struct Packed {
  void* data;
  Int size;
  Int* position;
};

/// Where the next `bytes` bytes of a packing buffer are; moves the position past them.
template <class Int>
std::byte* take(const Packed<Int>& packed, std::uint64_t bytes, const char* name, const char* size_name) {
  count_arg(packed.size, size_name);
  Int& position = *out(packed.position, "position");
  if (position < 0 || position > packed.size || static_cast<std::uint64_t>(packed.size - position) < bytes) {
    fail_call(MPI_ERR_TRUNCATE, std::to_string(bytes) + " bytes do not fit argument " + name + " of " +
                                    std::to_string(packed.size) + " bytes from position " + std::to_string(position));
  }
  if (!packed.data && bytes > 0) detail::null_argument(MPI_ERR_BUFFER, name);
  std::byte* const at = static_cast<std::byte*>(packed.data) + position;
  position += static_cast<Int>(bytes);
  return at;
}

template <class Int>
void pack_into(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, const Packed<Int>& packed) {
  const Buffer in = buffer_arg(inbuf, incount, datatype, "inbuf", "incount");
  const std::uint64_t bytes = bytes_arg(*in.type, in.count, "incount");
  std::byte* const to = take(packed, bytes, "outbuf", "outsize");
  pack(to, view_of(*in.type, in.data, in.count), 0, bytes);
}

template <class Int>
void unpack_from(const Packed<Int>& packed, void* outbuf, MPI_Count outcount, MPI_Datatype datatype) {
  const Buffer to = buffer_arg(outbuf, outcount, datatype, "outbuf", "outcount");
  const std::uint64_t bytes = bytes_arg(*to.type, to.count, "outcount");
  const std::byte* const from = take(packed, bytes, "inbuf", "insize");
  unpack(view_of(*to.type, to.data, to.count), 0, from, bytes);
}

template <class Int>
void pack_size(MPI_Count incount, MPI_Datatype datatype, Int* size) {
  count_arg(incount, "incount");
  const std::uint64_t bytes = bytes_arg(committed_arg(datatype), incount, "incount");
  *out(size, "size") =
      bytes <= static_cast<std::uint64_t>(std::numeric_limits<Int>::max()) ? static_cast<Int>(bytes) : MPI_UNDEFINED;
}

}  // namespace

RMQ_MPI(int, Pack,
        (const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize, int* position,
         MPI_Comm comm)) {
  return enter(comm, [&](Comm&) { pack_into<int>(inbuf, incount, datatype, {outbuf, outsize, position}); });
}

RMQ_MPI(int, Pack_c,
        (const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
         MPI_Count* position, MPI_Comm comm)) {
  return enter(comm, [&](Comm&) { pack_into<MPI_Count>(inbuf, incount, datatype, {outbuf, outsize, position}); });
}

RMQ_MPI(int, Unpack,
        (const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype datatype,
         MPI_Comm comm)) {
  return enter(comm, [&](Comm&) {
    unpack_from<int>({const_cast<void*>(inbuf), insize, position}, outbuf, outcount, datatype);
  });
}

RMQ_MPI(int, Unpack_c,
        (const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
         MPI_Datatype datatype, MPI_Comm comm)) {
  return enter(comm, [&](Comm&) {
    unpack_from<MPI_Count>({const_cast<void*>(inbuf), insize, position}, outbuf, outcount, datatype);
  });
}

RMQ_MPI(int, Pack_size, (int incount, MPI_Datatype datatype, MPI_Comm comm, int* size)) {
  return enter(comm, [&](Comm&) { pack_size(incount, datatype, size); });
}

RMQ_MPI(int, Pack_size_c, (MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size)) {
  return enter(comm, [&](Comm&) { pack_size(incount, datatype, size); });
}

}  // namespace rmq::mpi
