// SPDX-License-Identifier: BSD-3-Clause
// Start and end of the process-wide instance: engine/life/life.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rmq::mpi {

struct Session;

/// Held while MPI starts or ends by either model. Before the device.
std::mutex& life_mutex();
/// MPI is active from now on. The first time it makes the device and the predefined objects, at this thread level; does
/// not return when that fails: it says why in one line and ends the job. For MPI_Init it connects the job as well; a
/// session involves nobody else, not even a thread that is in the device. `call`: call_id() of the function. Throws
/// once MPI has ended for good. Returns whether it was the first time: then the recorder has the call already.
bool join_runtime(int thread_level, std::uint32_t call, bool for_session);
/// Other ranks can be reached from now on: MPI_Init does it, or the first communicator of sessions that has other
/// ranks, or the end of the program. Waits for ranks whose memory it needs to do the same. Needs the device held.
void connect_job();
/// The end of MPI_Finalize or of a session: MPI is no longer active when that was the last of them. The device not
/// held.
void leave_runtime();
/// A session of MPI that no program sees: MPI's runtime is in use as long as there is one. For faces beside MPI's,
/// between join_runtime() and leave_runtime(). Needs the device held.
Session* hold_runtime();
void let_go_of_runtime(Session* held);
/// MPI ends for good when the program does, if it has left MPI then.
void finish_at_exit();
/// Called, if it is set by then, when there is a device: for the tools interface, which a program may use before. The
/// device held.
inline std::atomic<void (*)()> on_device{nullptr};

/// Tells debuggers where the queues are: debug.cpp. Once everything is there.
void publish_debug_root();
/// Until a debugger has set MPIR_debug_gate.
void wait_for_debugger();

/// All of MPI_Finalize but the change of state. Collective; needs the device held. MPI_SUCCESS, or what a delete
/// callback of MPI_COMM_SELF returned.
int end_world();

}  // namespace rmq::mpi
