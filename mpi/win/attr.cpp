// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.7.3: attributes of windows; the predefined ones are section 12.2.6.
#include "engine/object/attributes.hpp"
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

bool is_predefined(int keyval) {
  return keyval == MPI_WIN_BASE || keyval == MPI_WIN_SIZE || keyval == MPI_WIN_DISP_UNIT ||
         keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL;
}

/// The base is the value itself; C gets pointers to the others.
void* predefined_attribute(Win& w, int keyval, Attribute::Form form) {
  switch (keyval) {
    case MPI_WIN_BASE:
      return w.flavor == MPI_WIN_FLAVOR_DYNAMIC ? MPI_BOTTOM : w.window->base();
    case MPI_WIN_SIZE:
      return value_at(&w.bytes, form);
    case MPI_WIN_DISP_UNIT:
      return value_at(&w.disp_unit, form);
    case MPI_WIN_CREATE_FLAVOR:
      return value_at(&w.flavor, form);
    default:
      return value_at(&w.model, form);
  }
}

Keyval& settable(int keyval) {
  if (is_predefined(keyval)) fail_call(MPI_ERR_KEYVAL, "a predefined attribute cannot be changed");
  return keyval_arg(keyval, Keyval::For::win, "win_keyval");
}

void get(Win& w, int keyval, void* value, int* flag, Attribute::Form form = Attribute::Form::pointer) {
  out(value, "attribute_val");
  out(flag, "flag");
  if (is_predefined(keyval)) {
    *flag = 1;
    *static_cast<void**>(value) = predefined_attribute(w, keyval, form);
    return;
  }
  const Attribute* a = find_attribute(w.attributes, keyval_arg(keyval, Keyval::For::win, "win_keyval").handle);
  *flag = a != nullptr;
  if (a) *static_cast<void**>(value) = value_of(*a, form);
}

}  // namespace

RMQ_MPI(int, Win_create_keyval,
        (MPI_Win_copy_attr_function * copy, MPI_Win_delete_attr_function* destroy, int* keyval, void* extra_state)) {
  return enter([&] { *out(keyval, "win_keyval") = make_keyval(Keyval::For::win, copy, destroy, extra_state); });
}

RMQ_MPI(int, Win_free_keyval, (int* keyval)) {
  return enter([&] { free_keyval_arg(keyval, Keyval::For::win, "win_keyval"); });
}

RMQ_MPI(int, Win_set_attr, (MPI_Win win, int keyval, void* value)) {
  return enter_win(win, [&](Win& w) { return set_attribute(w.attributes, win, settable(keyval), value); });
}

RMQ_MPI(int, Win_get_attr, (MPI_Win win, int keyval, void* value, int* flag)) {
  return enter_win(win, [&](Win& w) { get(w, keyval, value, flag); });
}

RMQ_MPI(int, Win_delete_attr, (MPI_Win win, int keyval)) {
  return enter_win(win, [&](Win& w) { return delete_attribute(w.attributes, win, settable(keyval)); });
}

// ---- for MPICH's Fortran library ----

extern "C" RMQ_EXPORT int MPII_Win_set_attr(MPI_Win win, int keyval, void* value, Attribute::Form form) {
  return enter_win(win,
                   [&](Win& w) { return set_attribute(w.attributes, win, settable(c_keyval(keyval)), value, form); });
}

extern "C" RMQ_EXPORT int MPII_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag, Attribute::Form form) {
  return enter_win(win, [&](Win& w) { get(w, c_keyval(keyval), value, flag, form); });
}

}  // namespace rmq::mpi
