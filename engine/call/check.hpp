// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments: each takes what the caller passed and the name of the parameter as the standard spells it, and
// gives back the object behind it or throws a Failure with the right error class. All need the device held.
#pragma once

#include "engine/object/attributes.hpp"
#include "engine/object/datatypes.hpp"
#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

/// Largest tag: the value of MPI_TAG_UB. Internal traffic uses the bits above.
inline constexpr int kTagMax = (1 << 29) - 1;

namespace detail {  // the messages, out of the way of what they report
[[noreturn]] void bad_handle(int error_class, int handle, const char* name);
[[noreturn]] void bad_count(MPI_Count count, const char* name);
[[noreturn]] void too_much(MPI_Count count, const char* name);
[[noreturn]] void bad_rank(const Comm& c, int rank, const char* name, const char* also_allowed = "");
[[noreturn]] void bad_tag(int tag, const char* name);
[[noreturn]] void bad_root(const Comm& c, int root);
[[noreturn]] void null_argument(int error_class, const char* name);
void check_odd_buffer(const void* data, const Datatype& type, const char* name);
[[noreturn]] void not_committed(const Datatype& t, const char* name);
}  // namespace detail

/// A pointer through which a result is stored; null is refused.
template <class T>
inline T* out(T* pointer, const char* name) {
  if (!pointer) [[unlikely]]
    detail::null_argument(MPI_ERR_ARG, name);
  return pointer;
}

inline Comm& comm_arg(MPI_Comm handle, const char* name = "comm") {
  Runtime& rt = runtime();
  if (handle == rt.world_handle) [[likely]]
    return *rt.world;
  Comm* c = handle == MPI_COMM_SELF ? rt.self : rt.comms.find(handle);
  if (!c) [[unlikely]]
    detail::bad_handle(MPI_ERR_COMM, handle, name);
  return *c;
}

inline Comm& intra_comm_arg(MPI_Comm handle, const char* name = "comm") {
  Comm& c = comm_arg(handle, name);
  if (c.is_inter()) fail_call(MPI_ERR_COMM, std::string("argument ") + name + " is an inter-communicator");
  return c;
}

inline Group& group_arg(MPI_Group handle, const char* name = "group") {
  Group* g = find_group(handle);
  if (!g) [[unlikely]]
    detail::bad_handle(MPI_ERR_GROUP, handle, name);
  return *g;
}

/// Any live datatype, committed or not.
inline Datatype& type_arg(MPI_Datatype handle, const char* name = "datatype") {
  Datatype* t = find_datatype(handle);
  if (!t) [[unlikely]]
    detail::bad_handle(MPI_ERR_TYPE, handle, name);
  return *t;
}

/// A datatype that may be used in communication.
inline Datatype& committed_arg(MPI_Datatype handle, const char* name = "datatype") {
  Datatype& t = type_arg(handle, name);
  if (!t.committed) [[unlikely]]
    detail::not_committed(t, name);
  return t;
}

inline Op& op_arg(MPI_Op handle, const char* name = "op") {
  Op* o = find_op(handle);
  if (!o) [[unlikely]]
    detail::bad_handle(MPI_ERR_OP, handle, name);
  return *o;
}

/// MPI_INFO_NULL is refused; see optional_info_arg.
inline Info& info_arg(MPI_Info handle, const char* name = "info") {
  Info* i = find_info(handle);
  if (!i) [[unlikely]]
    detail::bad_handle(MPI_ERR_INFO, handle, name);
  return *i;
}

/// nullptr for MPI_INFO_NULL.
inline Info* optional_info_arg(MPI_Info handle, const char* name = "info") {
  return handle == MPI_INFO_NULL ? nullptr : &info_arg(handle, name);
}

inline Errhandler& errhandler_arg(MPI_Errhandler handle, const char* name = "errhandler") {
  Errhandler* e = find_errhandler(handle);
  if (!e) [[unlikely]]
    detail::bad_handle(MPI_ERR_ERRHANDLER, handle, name);
  return *e;
}

/// A keyval of this kind; one that was freed serves as long as attributes are set. Throws MPI_ERR_KEYVAL.
Keyval& keyval_arg(int handle, Keyval::For what, const char* name = "keyval");

/// The program frees a keyval: `*handle` becomes MPI_KEYVAL_INVALID.
inline void free_keyval_arg(int* handle, Keyval::For what, const char* name) {
  Keyval& key = keyval_arg(*out(handle, name), what);
  *handle = MPI_KEYVAL_INVALID;
  free_keyval(key);
}

inline MPI_Count count_arg(MPI_Count count, const char* name = "count") {
  if (count < 0) [[unlikely]]
    detail::bad_count(count, name);
  return count;
}

/// What so many elements of a type come to, bytes; an error when that is more than a place in memory can be behind
/// another: 2^63 or more. `count` is not negative.
inline std::uint64_t bytes_arg(const Datatype& type, MPI_Count count, const char* name = "count") {
  std::uint64_t bytes;
  if (__builtin_mul_overflow(type.size, static_cast<std::uint64_t>(count), &bytes) || bytes >> 63 != 0) [[unlikely]]
    detail::too_much(count, name);
  return bytes;
}

/// Stores a string in the caller's `room` bytes, cut if need be and closed with a zero, and its length.
void out_text(char* to, int room, int* length, std::string_view text);

/// Null or MPI_IN_PLACE, by one comparison.
inline bool is_odd_buffer(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) + 1 <= 1;
}

/// `count` elements of a committed type at `data`. Null is only refused where it cannot be MPI_BOTTOM with a derived
/// type, MPI_IN_PLACE always: who takes it asks for it before.
inline Buffer buffer_arg(const void* data, MPI_Count count, MPI_Datatype type, const char* name = "buf",
                         const char* count_name = "count", const char* type_name = "datatype") {
  count_arg(count, count_name);
  // Where there is no data, programs written for MPICH may name no datatype either.
  const bool none = count == 0 && type == MPI_DATATYPE_NULL;
  const Datatype& t = none ? *find_datatype(MPI_BYTE) : committed_arg(type, type_name);
  if (is_odd_buffer(data) && count > 0) [[unlikely]]
    detail::check_odd_buffer(data, t, name);
  bytes_arg(t, count, count_name);
  return {const_cast<void*>(data), count, &t};
}

/// A rank to send to, or MPI_PROC_NULL.
inline int dest_arg(const Comm& c, int rank, const char* name = "dest") {
  if ((rank < 0 || rank >= c.remote_size()) && rank != MPI_PROC_NULL) [[unlikely]]
    detail::bad_rank(c, rank, name);
  return rank;
}

/// A rank to receive from, or MPI_PROC_NULL or MPI_ANY_SOURCE.
inline int source_arg(const Comm& c, int rank, const char* name = "source") {
  if ((rank < 0 || rank >= c.remote_size()) && rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE) [[unlikely]] {
    detail::bad_rank(c, rank, name, ", MPI_ANY_SOURCE");
  }
  return rank;
}

/// The root of a collective: a rank of an intra-communicator; of the remote group, MPI_ROOT or MPI_PROC_NULL in an
/// inter-communicator.
inline int root_arg(const Comm& c, int root) {
  const bool special = c.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL);
  if ((root < 0 || root >= c.remote_size()) && !special) [[unlikely]]
    detail::bad_root(c, root);
  return root;
}

inline int tag_arg(int tag, const char* name = "tag") {
  if (tag < 0 || tag > kTagMax) [[unlikely]]
    detail::bad_tag(tag, name);
  return tag;
}

/// A tag to receive: MPI_ANY_TAG as well.
inline int recv_tag_arg(int tag, const char* name = "tag") {
  if ((tag < 0 || tag > kTagMax) && tag != MPI_ANY_TAG) [[unlikely]]
    detail::bad_tag(tag, name);
  return tag;
}

}  // namespace rmq::mpi
