// SPDX-License-Identifier: BSD-3-Clause
// From a failure to the error handler that it is for.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/call/call.hpp"
#include "engine/call/error_codes.hpp"
#include "engine/call/raise.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi {
namespace {

/// "MPI_Send" for "PMPI_Send", the name that __builtin_FUNCTION() sees.
const char* public_name(const char* function) {
  return function[0] == 'P' && function[1] == 'M' ? function + 1 : function;
}

std::string describe(const char* function, const Failure& f) {
  return fmt::format("{}: {}", public_name(function), f.what.empty() ? text_of_code(f.code) : f.what);
}

[[noreturn]] void end_job(int code, const std::string& why) {
  Runtime& rt = runtime();
  const int error_class = class_of_code(code) > 0 ? class_of_code(code) : MPI_ERR_OTHER;
  rt.device->MPID_Abort(error_class, why, error_class == MPIX_ERR_PROC_FAILED ? Blame::lost_peer : Blame::itself);
}

/// Outside of MPI there is only this.
[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "rmq: %s\n", why.c_str());
  std::exit(1);
}

/// Whose handler an error goes to, found while the device is held: the object's, else that of MPI_COMM_SELF (MPI-4.0,
/// section 9.3), except that a program of MPI-3, which knows only MPI_COMM_WORLD as the place for such errors, is
/// heard.
struct Target {
  int object;
  Errhandler handler;
};
Target target_of(int handle) {
  Runtime& rt = runtime();
  if (const Session* s = rt.sessions.find(handle)) return {s->handle, *s->errhandler};
  if (const Win* w = find_win(handle)) return {w->handle, *w->errhandler};
  const Comm* c = find_comm(handle);
  if (!c) {
    const bool self_is_fatal = rt.self->errhandler->handle == MPI_ERRORS_ARE_FATAL;
    c = self_is_fatal ? rt.world : rt.self;
  }
  return {c->handle, handler_of(*c)};
}

/// Calls the program's function, which may change the code. All handles but those of files are ints, so that one type
/// of function serves communicators, windows and sessions.
void call_handler(const Errhandler& handler, int object, int& code) {
  using Action = Errhandler::Action;
  MPI_File file = MPI_FILE_NULL;
  const bool of_files = handler.action == Action::user_file;
  if (handler.cxx_proxy) {
    const int kind = of_files ? 1 : handler.action == Action::user_win ? 2 : 0;  // as that library counts them
    void* const of = of_files ? static_cast<void*>(&file) : &object;
    handler.cxx_proxy(kind, of, &code, handler.function);
    code = MPI_SUCCESS;  // or that library would call the handler once more: C++ has no returned codes
  } else if (of_files) {
    reinterpret_cast<MPI_File_errhandler_function*>(handler.function)(&file, &code);
  } else {
    reinterpret_cast<MPI_Comm_errhandler_function*>(handler.function)(&object, &code);
  }
}

}  // namespace

const Errhandler& handler_of(const Comm& c) {
  return c.errhandler == &runtime().unset_errhandler ? *runtime().world->errhandler : *c.errhandler;
}

void end_for_loss(adi::Core& device, int lost_world_rank) {
  const char* const call = device.call_name();
  device.trace().end_in(call_id(call));
  end_job(lost_class(lost_world_rank), describe(call, {MPI_SUCCESS, lost_text(lost_world_rank)}));
}

std::shared_ptr<const Errhandler> handler_of_freed(const Comm& comm) {
  return find_comm(comm.handle) == &comm ? nullptr : std::make_shared<const Errhandler>(handler_of(comm));
}

int raise_error(int object, const char* function, const Failure& failure) {
  Runtime& rt = runtime();
  if (!rt.is_active()) give_up(describe(function, failure));
  if (failure.handler) return raise_to(*failure.handler, rt.world->handle, function, failure);
  Target target;
  {
    adi::Device::Entry entry(*rt.device, function);
    target = target_of(failure.object != MPI_COMM_NULL ? failure.object : object);
  }
  return raise_to(target.handler, target.object, function, failure);
}

int raise_file_error(const char* function, const Failure& failure) {
  Runtime& rt = runtime();
  Errhandler handler;
  if (rt.is_active()) {
    const adi::Device::Entry entry(*rt.device, function);
    handler = *rt.file_errhandler;
  } else {
    const std::lock_guard lock(detail::outside_mutex());
    handler = *rt.file_errhandler;
  }
  return raise_to(handler, MPI_COMM_NULL, function, failure);
}

int raise_to(const Errhandler& handler, int object, const char* function, const Failure& failure) {
  const std::string text = describe(function, failure);
  int code = failure.what.empty() ? failure.code : make_error_code(failure.code, text);
  switch (handler.action) {
    case Errhandler::Action::fatal:
    case Errhandler::Action::abort:
      if (!runtime().is_active()) give_up(text);
      runtime().device->trace().end_in(call_id(function));
      end_job(failure.cause != MPI_SUCCESS ? failure.cause : failure.code, text);
    case Errhandler::Action::return_:
      break;
    default:
      call_handler(handler, object, code);
  }
  return code;
}

Keyval& keyval_arg(int handle, Keyval::For what, const char* name) {
  Keyval* k = runtime().keyvals.find(handle);
  if (!k) detail::bad_handle(MPI_ERR_KEYVAL, handle, name);
  if (k->what != what) {
    // Not the fault of a window, and its handler, fatal as long as none is set, hears nothing of it, as in MPICH.
    throw Failure{MPI_ERR_KEYVAL, std::string("argument ") + name + " was made for another kind of object",
                  what == Keyval::For::win ? MPI_COMM_SELF : MPI_COMM_NULL};
  }
  return *k;
}

void out_text(char* to, int room, int* length, std::string_view text) {
  const std::size_t n = std::min(text.size(), static_cast<std::size_t>(room - 1));
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
  *length = static_cast<int>(n);
}

namespace detail {

std::mutex& outside_mutex() {
  static std::mutex* const one = new std::mutex;  // never destroyed, like the runtime
  return *one;
}

void refuse(const char* function) {
  const Runtime& rt = runtime();
  const bool world_ended = rt.world_model.load(std::memory_order_acquire) == Runtime::State::after;
  std::fprintf(stderr, "rmq: %s was called %s\n", public_name(function),
               world_ended ? "after MPI_Finalize"
               : rt.sessions_so_far.load(std::memory_order_relaxed) == Runtime::Sessions::used
                   ? "outside of all sessions"
                   : "before MPI_Init");
  std::exit(1);
}

int raise_caught(int object, const char* function) {
  try {
    throw;
  } catch (const Failure& f) {
    return raise_error(object, function, f);
  } catch (const std::bad_alloc&) {
    return raise_error(object, function, Failure{MPI_ERR_NO_MEM, {}, MPI_COMM_NULL});
  }
}

/// Behind "a": what a handle was that has lost its object; null where it has had none.
const char* freed_object(int handle) {
  const Runtime& rt = runtime();
  switch (handle_kind(handle)) {
    case ObjectKind::comm:
      return rt.comms.has_had(handle) ? " communicator that has been freed (MPI_Comm_free)" : nullptr;
    case ObjectKind::group:
      return rt.groups.has_had(handle) ? " group that has been freed (MPI_Group_free)" : nullptr;
    case ObjectKind::datatype:
      return rt.datatypes.has_had(handle) ? " datatype that has been freed (MPI_Type_free)" : nullptr;
    case ObjectKind::op:
      return rt.ops.has_had(handle) ? "n operation that has been freed (MPI_Op_free)" : nullptr;
    case ObjectKind::info:
      return rt.infos.has_had(handle) ? "n info object that has been freed (MPI_Info_free)" : nullptr;
    case ObjectKind::errhandler:
      return rt.errhandlers.has_had(handle) ? "n error handler that has been freed (MPI_Errhandler_free)" : nullptr;
    case ObjectKind::win:
      return rt.windows.has_had(handle) ? " window that has been freed (MPI_Win_free)" : nullptr;
    default:
      return nullptr;
  }
}

void bad_handle(int error_class, int handle, const char* name) {
  const bool null = handle_storage(handle) == 0 && handle_index(handle) == 0;
  const char* const freed = freed_object(handle);
  fail_call(error_class,
            null    ? fmt::format("argument {} is a null handle", name)
            : freed ? fmt::format("argument {} is a{}", name, freed)
                    : fmt::format("argument {} is no valid handle: {:#010x}", name, static_cast<unsigned>(handle)));
}

void bad_count(MPI_Count count, const char* name) {
  fail_call(MPI_ERR_COUNT, fmt::format("invalid count {} (argument {}; must not be negative)", count, name));
}

void too_much(MPI_Count count, const char* name) {
  fail_call(MPI_ERR_COUNT,
            fmt::format("invalid count {} (argument {}; the data would be 2^63 bytes or more)", count, name));
}

void bad_rank(const Comm& c, int rank, const char* name, const char* also_allowed) {
  fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument {}; allowed 0..{} and MPI_PROC_NULL{})", rank, name,
                                      c.remote_size() - 1, also_allowed));
}

void bad_tag(int tag, const char* name) {
  fail_call(MPI_ERR_TAG, fmt::format("invalid tag {} (argument {}; allowed 0..{})", tag, name, kTagMax));
}

void bad_root(const Comm& c, int root) {
  fail_call(MPI_ERR_ROOT, fmt::format("invalid root {} (argument root; allowed 0..{}{})", root, c.remote_size() - 1,
                                      c.is_inter() ? ", MPI_ROOT and MPI_PROC_NULL" : ""));
}

void null_argument(int error_class, const char* name) {
  fail_call(error_class, fmt::format("argument {} is a null pointer", name));
}

void check_odd_buffer(const void* data, const Datatype& type, const char* name) {
  if (data) fail_call(MPI_ERR_BUFFER, fmt::format("argument {} must not be MPI_IN_PLACE", name));
  if (type.predefined) null_argument(MPI_ERR_BUFFER, name);
}

void not_committed(const Datatype& t, const char* name) {
  fail_call(MPI_ERR_TYPE, fmt::format("the datatype{}{} of argument {} has not been committed (MPI_Type_commit)",
                                      t.name.empty() ? "" : " ", t.name, name));
}

}  // namespace detail
}  // namespace rmq::mpi
