// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.7: attributes of communicators, and the names that they had in MPI-1.
#include "engine/call/error_codes.hpp"
#include "engine/object/attributes.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// The predefined attributes of MPI_COMM_WORLD, which every communicator answers as MPICH's do. Values that C gets are
/// pointers to these ints.
int* predefined_attribute(int keyval) {
  static int tag_ub = kTagMax, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_is_global = 0;
  static int universe_size, last_code, app_num;
  const JobInfo& job = runtime().device->job();
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_ub;
    case MPI_HOST:
      return &host;
    case MPI_IO:
      return &io;
    case MPI_WTIME_IS_GLOBAL:
      wtime_is_global = job.host_size == job.size;  // ranks of one machine share its clock
      return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
      universe_size = job.universe_size;
      return &universe_size;
    case MPI_LASTUSEDCODE:
      last_code = last_used_code();
      return &last_code;
    case MPI_APPNUM:
      app_num = job.app_num;
      return &app_num;
    default:
      return nullptr;
  }
}

Keyval& settable(int keyval) {
  if (predefined_attribute(keyval)) fail_call(MPI_ERR_KEYVAL, "a predefined attribute cannot be changed");
  return keyval_arg(keyval, Keyval::For::comm);
}

void get(const Comm& c, int keyval, void* value, int* flag, Attribute::Form form = Attribute::Form::pointer) {
  out(value, "attribute_val");
  out(flag, "flag");
  if (int* const ours = predefined_attribute(keyval)) {
    *flag = 1;
    *static_cast<void**>(value) = value_at(ours, form);
    return;
  }
  const Attribute* a = find_attribute(c.attributes, keyval_arg(keyval, Keyval::For::comm).handle);
  *flag = a != nullptr;
  if (a) *static_cast<void**>(value) = value_of(*a, form);
}

}  // namespace

RMQ_MPI(int, Comm_create_keyval,
        (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function* destroy, int* keyval, void* extra_state)) {
  return enter([&] { *out(keyval, "comm_keyval") = make_keyval(Keyval::For::comm, copy, destroy, extra_state); });
}

RMQ_MPI(int, Comm_free_keyval, (int* keyval)) {
  return enter([&] { free_keyval_arg(keyval, Keyval::For::comm, "comm_keyval"); });
}

RMQ_MPI(int, Comm_set_attr, (MPI_Comm comm, int keyval, void* value)) {
  return enter(comm, [&](Comm& c) { return set_attribute(c.attributes, comm, settable(keyval), value); });
}

RMQ_MPI(int, Comm_get_attr, (MPI_Comm comm, int keyval, void* value, int* flag)) {
  return enter(comm, [&](Comm& c) { get(c, keyval, value, flag); });
}

RMQ_MPI(int, Comm_delete_attr, (MPI_Comm comm, int keyval)) {
  return enter(comm, [&](Comm& c) { return delete_attribute(c.attributes, comm, settable(keyval)); });
}

RMQ_MPI(int, Keyval_create, (MPI_Copy_function * copy, MPI_Delete_function* destroy, int* keyval, void* extra_state)) {
  return enter([&] { *out(keyval, "keyval") = make_keyval(Keyval::For::comm, copy, destroy, extra_state); });
}

RMQ_MPI(int, Keyval_free, (int* keyval)) {
  return enter([&] { free_keyval_arg(keyval, Keyval::For::comm, "keyval"); });
}

RMQ_MPI(int, Attr_put, (MPI_Comm comm, int keyval, void* value)) {
  return enter(comm, [&](Comm& c) { return set_attribute(c.attributes, comm, settable(keyval), value); });
}

RMQ_MPI(int, Attr_get, (MPI_Comm comm, int keyval, void* value, int* flag)) {
  return enter(comm, [&](Comm& c) { get(c, keyval, value, flag); });
}

RMQ_MPI(int, Attr_delete, (MPI_Comm comm, int keyval)) {
  return enter(comm, [&](Comm& c) { return delete_attribute(c.attributes, comm, settable(keyval)); });
}

// ---- for MPICH's Fortran library ----

extern "C" RMQ_EXPORT int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* value, Attribute::Form form) {
  return enter(comm,
               [&](Comm& c) { return set_attribute(c.attributes, comm, settable(c_keyval(keyval)), value, form); });
}

extern "C" RMQ_EXPORT int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag, Attribute::Form form) {
  return enter(comm, [&](Comm& c) { get(c, c_keyval(keyval), value, flag, form); });
}

/// The functions of this keyval, for any kind of object, are Fortran's.
extern "C" RMQ_EXPORT void MPII_Keyval_set_proxy(int keyval, decltype(Keyval::copy_proxy) copy,
                                                 decltype(Keyval::destroy_proxy) destroy) {
  const adi::Device::Entry entry(*runtime().device);
  if (Keyval* k = runtime().keyvals.find(keyval)) {
    k->copy_proxy = copy;
    k->destroy_proxy = destroy;
  }
}

}  // namespace rmq::mpi
