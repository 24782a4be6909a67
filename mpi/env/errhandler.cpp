// SPDX-License-Identifier: BSD-3-Clause
// Chapter 9.3: error handlers, and the names that they had in MPI-1.
#include <fmt/format.h>

#include "engine/call/error_codes.hpp"
#include "engine/object/comm.hpp"
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"
#include "mpi/env/sessions.hpp"

namespace rmq::mpi {
namespace {

template <class Function>
MPI_Errhandler make(Errhandler::Action action, Function* function, const char* name) {
  auto e = std::make_unique<Errhandler>();
  e->action = action;
  e->function = reinterpret_cast<void (*)()>(out(function, name));
  return runtime().errhandlers.add(std::move(e))->handle;
}

/// `slot` of an object is to hold a handler: a predefined one, or one that was made for this kind of object.
void set(Errhandler*& slot, MPI_Errhandler handle, Errhandler::Action kind) {
  Errhandler& e = errhandler_arg(handle);
  if (e.action != kind && handle_storage(handle) == kDynamic) {
    fail_call(MPI_ERR_ARG, "argument errhandler was made for another kind of object");
  }
  retain(e);
  release(slot);
  slot = &e;
}
void set(Comm& c, MPI_Errhandler handle) {
  set(c.errhandler, handle, Errhandler::Action::user_comm);
}
void set(Win& w, MPI_Errhandler handle) {
  set(w.errhandler, handle, Errhandler::Action::user_win);
}

void set(Session& s, MPI_Errhandler handle) {
  set(s.errhandler, handle, Errhandler::Action::user_session);
}

template <class Object>
MPI_Errhandler get(Object& object) {
  retain(*object.errhandler);
  return object.errhandler->handle;
}

/// The frame of functions on a file.
template <class Body>
int enter_file(MPI_File file, Body&& body, Function function = __builtin_FUNCTION()) {
  Failure bad{MPI_SUCCESS, {}, MPI_COMM_NULL};
  enter_any_time(
      [&] {
        try {
          if (file != MPI_FILE_NULL) fail_call(MPI_ERR_FILE, "argument fh is no file: only MPI_FILE_NULL is one");
          body();
        } catch (const Failure& f) {
          bad = f;
        }
      },
      function);
  return bad.code == MPI_SUCCESS ? MPI_SUCCESS : raise_file_error(function, bad);
}

void check_code(int errorcode) {
  if (class_of_code(errorcode) < 0) {
    fail_call(MPI_ERR_ARG, fmt::format("argument errorcode is no error code: {}", errorcode));
  }
}

}  // namespace

RMQ_MPI(int, Comm_create_errhandler, (MPI_Comm_errhandler_function * function, MPI_Errhandler* errhandler)) {
  return enter_any_time(
      [&] { *out(errhandler, "errhandler") = make(Errhandler::Action::user_comm, function, "comm_errhandler_fn"); });
}

RMQ_MPI(int, Win_create_errhandler, (MPI_Win_errhandler_function * function, MPI_Errhandler* errhandler)) {
  return enter_any_time(
      [&] { *out(errhandler, "errhandler") = make(Errhandler::Action::user_win, function, "win_errhandler_fn"); });
}

RMQ_MPI(int, File_create_errhandler, (MPI_File_errhandler_function * function, MPI_Errhandler* errhandler)) {
  return enter_any_time(
      [&] { *out(errhandler, "errhandler") = make(Errhandler::Action::user_file, function, "file_errhandler_fn"); });
}

RMQ_MPI(int, Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler)) {
  return enter(comm, [&](Comm& c) { set(c, errhandler); });
}

RMQ_MPI(int, Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler)) {
  return enter(comm, [&](Comm& c) { *out(errhandler, "errhandler") = get(c); });
}

RMQ_MPI(int, Comm_call_errhandler, (MPI_Comm comm, int errorcode)) {
  const int code = enter(comm, [&](Comm&) { check_code(errorcode); });
  if (code != MPI_SUCCESS) return code;
  raise_error(comm, __func__, Failure{errorcode, {}, MPI_COMM_NULL});
  return MPI_SUCCESS;
}

RMQ_MPI(int, Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler)) {
  return enter_win(win, [&](Win& w) { set(w, errhandler); });
}

RMQ_MPI(int, Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler)) {
  return enter_win(win, [&](Win& w) { *out(errhandler, "errhandler") = get(w); });
}

RMQ_MPI(int, Win_call_errhandler, (MPI_Win win, int errorcode)) {
  const int code = enter_win(win, [&](Win&) { check_code(errorcode); });
  if (code != MPI_SUCCESS) return code;
  raise_error(win, __func__, Failure{errorcode, {}, MPI_COMM_NULL});
  return MPI_SUCCESS;
}

RMQ_MPI(int, Session_create_errhandler, (MPI_Session_errhandler_function * function, MPI_Errhandler* errhandler)) {
  return enter_any_time([&] {
    *out(errhandler, "errhandler") = make(Errhandler::Action::user_session, function, "session_errhandler_fn");
  });
}

RMQ_MPI(int, Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler)) {
  return enter_session(session, [&](Session& s) { set(s, errhandler); });
}

RMQ_MPI(int, Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler)) {
  return enter_session(session, [&](Session& s) { *out(errhandler, "errhandler") = get(s); });
}

RMQ_MPI(int, Session_call_errhandler, (MPI_Session session, int errorcode)) {
  const int code = enter_session(session, [&](Session&) { check_code(errorcode); });
  if (code != MPI_SUCCESS) return code;
  raise_error(session, __func__, Failure{errorcode, {}, MPI_COMM_NULL});
  return MPI_SUCCESS;
}

// ---- files: there is none but MPI_FILE_NULL, whose handler hears of all errors of files ----

RMQ_MPI(int, File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler)) {
  return enter_file(file, [&] { set(runtime().file_errhandler, errhandler, Errhandler::Action::user_file); });
}

RMQ_MPI(int, File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler)) {
  return enter_file(file, [&] {
    retain(*runtime().file_errhandler);
    *out(errhandler, "errhandler") = runtime().file_errhandler->handle;
  });
}

RMQ_MPI(int, File_call_errhandler, (MPI_File fh, int errorcode)) {
  const int code = enter_file(fh, [&] { check_code(errorcode); });
  if (code != MPI_SUCCESS) return code;
  raise_file_error(__func__, Failure{errorcode, {}, MPI_COMM_NULL});
  return MPI_SUCCESS;
}

/// For MPICH's C++ library: the function of this handler is C++'s.
extern "C" RMQ_EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*proxy)()) {
  enter_any_time(
      [&] { errhandler_arg(errhandler).cxx_proxy = reinterpret_cast<decltype(Errhandler::cxx_proxy)>(proxy); });
}

RMQ_MPI(int, Errhandler_free, (MPI_Errhandler * errhandler)) {
  return enter_any_time([&] {
    Errhandler& e = errhandler_arg(*out(errhandler, "errhandler"));
    release(&e);
    *errhandler = MPI_ERRHANDLER_NULL;
  });
}

RMQ_MPI(int, Errhandler_create, (MPI_Handler_function * function, MPI_Errhandler* errhandler)) {
  return enter([&] { *out(errhandler, "errhandler") = make(Errhandler::Action::user_comm, function, "function"); });
}

RMQ_MPI(int, Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler)) {
  return enter(comm, [&](Comm& c) { set(c, errhandler); });
}

RMQ_MPI(int, Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler)) {
  return enter(comm, [&](Comm& c) { *out(errhandler, "errhandler") = get(c); });
}

}  // namespace rmq::mpi
