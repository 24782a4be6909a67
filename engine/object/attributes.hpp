// SPDX-License-Identifier: BSD-3-Clause
// Cached attributes, the same for communicators, datatypes and windows: all their handles are ints. Everything needs
// the device held; it is given away around the program's callbacks, so a list may change under the caller's feet: look
// again.
#pragma once

#include "engine/object/objects.hpp"

namespace rmq::mpi {

int make_keyval(Keyval::For what, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* destroy,
                void* extra);
/// The program lets go of it. A second time, by a copy of the handle, is no error while attributes are set.
void free_keyval(Keyval& key);

/// Sets or replaces (after its delete callback) the value. These three return MPI_SUCCESS or what a callback returned.
int set_attribute(Attributes& list, int object, Keyval& key, void* value,
                  Attribute::Form form = Attribute::Form::pointer);
int delete_attribute(Attributes& list, int object, Keyval& key);
/// In the opposite order of setting; stops at the first callback that refuses.
int delete_all_attributes(Attributes& list, int object);
/// Calls the copy callbacks of `from`, an attribute list of `object`, in the order of setting; what they let through
/// goes to `to`. On an error `to` keeps what has been copied so far.
int copy_attributes(Attributes& to, const Attributes& from, int object);

/// nullptr when it is not set.
const Attribute* find_attribute(const Attributes& list, int keyval);

/// What a language gets that asks in this form (MPI-4.0 section 19.3.7): C the address of an integer that Fortran has
/// set, Fortran the integer, or the pointer that C has set as one.
void* value_of(const Attribute& a, Attribute::Form form);

/// The keyval as C knows it: Fortran's predefined ones are greater by one.
inline int c_keyval(int keyval) {
  return handle_storage(keyval) == kBuiltin && keyval % 2 == 0 ? keyval - 1 : keyval;
}

/// value_of() for a predefined attribute that lies at `place`.
template <class Integer>
void* value_at(Integer* place, Attribute::Form form) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Fortran's integer travels as a pointer
  return form == Attribute::Form::pointer ? place : reinterpret_cast<void*>(static_cast<MPI_Aint>(*place));
}

}  // namespace rmq::mpi
