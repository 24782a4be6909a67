// Start and end of the process-wide instance: runtime.cpp.
#pragma once

namespace rmq::mpi {

/// Joins the job, opens the device and makes the predefined objects. Does not return when that fails: it says why in
/// one line and ends the job.
void start_runtime(int thread_level);
/// Fills in what MPICH's Fortran library expects of the C library; does nothing where it is absent. env.cpp
void tell_fortran();

/// Tells debuggers where the queues are: debug.cpp. Once everything is there.
void publish_debug_root();
/// Until a debugger has set MPIR_debug_gate.
void wait_for_debugger();

/// All of MPI_Finalize but the change of state. Collective; needs the device held. MPI_SUCCESS, or what a delete
/// callback of MPI_COMM_SELF returned.
int end_runtime();

}  // namespace rmq::mpi
