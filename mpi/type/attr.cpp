// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.7: attributes of datatypes.
#include "engine/object/attributes.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

void get(MPI_Datatype datatype, int keyval, void* value, int* flag, Attribute::Form form = Attribute::Form::pointer) {
  const Keyval& k = keyval_arg(keyval, Keyval::For::type, "type_keyval");
  const Attribute* a = find_attribute(type_arg(datatype).attributes, k.handle);
  *out(flag, "flag") = a != nullptr;
  if (a) *static_cast<void**>(out(value, "attribute_val")) = value_of(*a, form);
}

}  // namespace

RMQ_MPI(int, Type_create_keyval,
        (MPI_Type_copy_attr_function * copy, MPI_Type_delete_attr_function* destroy, int* keyval, void* extra_state)) {
  return enter([&] { *out(keyval, "type_keyval") = make_keyval(Keyval::For::type, copy, destroy, extra_state); });
}

RMQ_MPI(int, Type_free_keyval, (int* keyval)) {
  return enter([&] { free_keyval_arg(keyval, Keyval::For::type, "type_keyval"); });
}

RMQ_MPI(int, Type_set_attr, (MPI_Datatype datatype, int keyval, void* value)) {
  return enter([&] {
    Datatype& t = type_arg(datatype);
    return set_attribute(t.attributes, datatype, keyval_arg(keyval, Keyval::For::type, "type_keyval"), value);
  });
}

RMQ_MPI(int, Type_get_attr, (MPI_Datatype datatype, int keyval, void* value, int* flag)) {
  return enter([&] { get(datatype, keyval, value, flag); });
}

RMQ_MPI(int, Type_delete_attr, (MPI_Datatype datatype, int keyval)) {
  return enter([&] {
    Datatype& t = type_arg(datatype);
    return delete_attribute(t.attributes, datatype, keyval_arg(keyval, Keyval::For::type, "type_keyval"));
  });
}

// ---- for MPICH's Fortran library ----

extern "C" RMQ_EXPORT int MPII_Type_set_attr(MPI_Datatype datatype, int keyval, void* value, Attribute::Form form) {
  return enter([&] {
    Datatype& t = type_arg(datatype);
    return set_attribute(t.attributes, datatype, keyval_arg(keyval, Keyval::For::type, "type_keyval"), value, form);
  });
}

extern "C" RMQ_EXPORT int MPII_Type_get_attr(MPI_Datatype datatype, int keyval, void* value, int* flag,
                                             Attribute::Form form) {
  return enter([&] { get(datatype, keyval, value, flag, form); });
}

}  // namespace rmq::mpi
