// SPDX-License-Identifier: BSD-3-Clause
// The one process-wide instance that MPI needs: device, predefined objects, tables of run-time objects.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "adi/device.hpp"
#include "engine/object/objects.hpp"
#include "start/bootstrap.hpp"

namespace rmq::rma {
class Domain;
}

namespace rmq::mpi {

namespace ft {
class Faults;
}

/// MPI::ERRORS_THROW_EXCEPTIONS of MPICH's C++ library, which throws when it is returned an error and finds this
/// handler: here it is MPI_ERRORS_RETURN by another name.
inline constexpr int kErrorsThrow = 0x54000002;

struct Runtime {
  enum class State : unsigned char { before, active, after };
  std::atomic<State> state{State::before};        // active: from MPI_Init to MPI_Finalize, or while there is a session
  std::atomic<State> world_model{State::before};  // MPI_Init and MPI_Finalize alone
  /// A program with sessions is not at its end with MPI_Finalize. Once that has begun without any, there will be none:
  /// then it is `closed`, for good unless another rank goes on.
  enum class Sessions : std::uint8_t { none, used, closed };
  std::atomic<Sessions> sessions_so_far{Sessions::none};  // of this process, at any time
  int thread_level = MPI_THREAD_SINGLE;
  unsigned long main_thread = 0;  // pthread_self() of the caller of MPI_Init, or of the first MPI_Session_init
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<adi::Device> device;

  Comm* world = nullptr;
  MPI_Comm parent = MPI_COMM_NULL;  // of a world that has been spawned, until the program frees it
  static constexpr int kNoHandle = 0x47ffffff;
  int world_handle = kNoHandle;  // MPI_COMM_WORLD as soon as the program may use it: see connect_job()
  Comm* self = nullptr;
  std::array<Errhandler, 4> builtin_errhandlers{{{MPI_ERRORS_ARE_FATAL, 1, Errhandler::Action::fatal},
                                                 {MPI_ERRORS_RETURN, 1, Errhandler::Action::return_},
                                                 {kErrorsThrow, 1, Errhandler::Action::return_},
                                                 {MPI_ERRORS_ABORT, 1, Errhandler::Action::abort}}};  // by index
  Errhandler* file_errhandler = &builtin_errhandlers[1];  // of MPI_FILE_NULL, hence of all files; referenced
  std::shared_ptr<BsendBuffer> bsend;                     // attached to the process; nullptr: none
  Group empty_group;
  // Of a communicator that nobody has given a handler, and whose parent had none: errors are fatal, but when
  // MPI_COMM_WORLD has a handler, though it was set later, that one is called, as in MPICH.
  Errhandler unset_errhandler{MPI_ERRORS_ARE_FATAL, 1, Errhandler::Action::fatal};

  Table<Comm, ObjectKind::comm> comms;
  Table<Group, ObjectKind::group> groups;
  Table<Datatype, ObjectKind::datatype> datatypes;
  Table<Op, ObjectKind::op> ops;
  Table<Info, ObjectKind::info, std::mutex> infos;
  Table<Errhandler, ObjectKind::errhandler, std::mutex> errhandlers;
  Table<Keyval, ObjectKind::keyval> keyvals;
  Table<Session, ObjectKind::session, std::mutex> sessions;
  Table<Win, ObjectKind::win> windows;
  std::shared_ptr<rma::Domain> domain;  // of all windows, from the first one on (engine/window/windows.hpp)

  ft::Faults* faults = nullptr;  // as soon as there is a device; never destroyed
  bool ft = false;               // the job goes on when ranks die (rmqrun --ft)

  std::vector<std::pair<MPI_Message, Comm*>> messages;  // matched probes whose message has not been received; few

  // Acquire pairs with the release at the end of MPI_Init or MPI_Session_init: a thread that sees `active` sees all
  // that was built there.
  bool is_active() const { return state.load(std::memory_order_acquire) == State::active; }
};

namespace detail {
/// Never destroyed: a program may ask MPI_Finalized from a destructor that runs after main.
union Immortal {
  Runtime runtime;
  constexpr Immortal() : runtime() {}
  ~Immortal() {}
};
[[gnu::visibility("hidden")]] extern Immortal instance;
}  // namespace detail

inline Runtime& runtime() {
  return detail::instance.runtime;
}

/// Gives the device away for its lifetime: around every function of the user that may call MPI (error handlers,
/// attribute callbacks, reduction operations, …). Needs the device held; what the caller looked up before may have
/// changed after.
class Released : adi::Device::Absence {
 public:
  Released() : Absence(*runtime().device) {}
};

// ---- from handle to object: nullptr when there is none ----

// Datatypes and operations: engine/object/datatypes.hpp.

Info* find_info(MPI_Info handle);  // engine/object/environment.cpp

inline Comm* find_comm(MPI_Comm handle) {
  Runtime& rt = runtime();
  return handle == rt.world_handle ? rt.world : handle == MPI_COMM_SELF ? rt.self : rt.comms.find(handle);
}

/// nullptr when the handle is no live window.
inline Win* find_win(MPI_Win handle) {
  return runtime().windows.find(handle);
}

inline Group* find_group(MPI_Group handle) {
  return handle == MPI_GROUP_EMPTY ? &runtime().empty_group : runtime().groups.find(handle);
}

inline Errhandler* find_errhandler(MPI_Errhandler handle) {
  Runtime& rt = runtime();
  const auto builtin = static_cast<unsigned>(handle) - static_cast<unsigned>(MPI_ERRORS_ARE_FATAL);
  return builtin < rt.builtin_errhandlers.size() ? &rt.builtin_errhandlers[builtin] : rt.errhandlers.find(handle);
}

}  // namespace rmq::mpi
