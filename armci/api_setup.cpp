// SPDX-License-Identifier: BSD-3-Clause
// Start and end, who is who.
#include <fmt/format.h>

#include <cstdlib>

#include "armci/call.hpp"
#include "armci/include/armcix.h"
#include "armci/transfer.hpp"

namespace rmq::armci {
namespace {

int proc_arg(const char* function, int proc) {
  check_proc(function, proc);
  return proc;
}
bool is_here(int proc) {
  const World& w = world();
  const adi::Device& device = *mpi::runtime().device;
  const Rank rank = w.comm->world_of(proc), mine = w.comm->world_of(w.me);
  const bool foreign = device.any_foreign(w.comm->group->world);
  return device.host_of(rank, foreign) == device.host_of(mine, foreign);
}

}  // namespace

RMQ_ARMCI(int, Init, (void)) {
  start(MPI_THREAD_SINGLE, nullptr);
  return 0;
}
RMQ_ARMCI(int, Init_args, (int*, char***)) {
  return PARMCI_Init();
}
RMQ_ARMCI(int, Init_thread, (int level)) {
  start(level, nullptr);
  return 0;
}
RMQ_ARMCI(int, Init_thread_comm, (int level, MPI_Comm comm)) {
  start(level, &comm);
  return 0;
}
RMQ_ARMCI(int, Init_mpi_comm, (MPI_Comm comm)) {
  start(MPI_THREAD_SINGLE, &comm);
  return 0;
}
RMQ_ARMCI(int, Initialized, (void)) {
  return world().is_active();
}
RMQ_ARMCI(int, Finalize, (void)) {
  if (world().is_active()) end();
  return 0;
}
// Ends all processes at once where they have not ended ARMCI together: after an error.
RMQ_ARMCI(void, Cleanup, (void)) {}
RMQ_ARMCI(void, Error, (const char* text, int code)) {
  if (!world().is_active()) refuse("ARMCI_Error");
  // No Entry: another thread may hold the device for ever.
  die("ARMCI_Error", fmt::format("{} (code {})", text, code), code == 0 ? 1 : code);
}

RMQ_ARMCI(int, Same_node, (int proc)) {
  check_proc("ARMCI_Same_node", proc);
  return is_here(proc);
}
RMQ_ARMCI(int, Uses_shm, (void)) {
  return 0;
}
RMQ_ARMCI(int, Uses_shm_grp, (ARMCI_Group*)) {
  return 0;
}
RMQ_ARMCI(void, Set_shm_limit, (unsigned long)) {}

extern "C" {
RMQ_EXPORT int armci_domain_nprocs(armci_domain_t, int) {
  return 1;
}
RMQ_EXPORT int armci_domain_id(armci_domain_t, int proc) {
  return proc_arg("armci_domain_id", proc);
}
RMQ_EXPORT int armci_domain_glob_proc_id(armci_domain_t, int id, int) {
  return proc_arg("armci_domain_glob_proc_id", id);
}
RMQ_EXPORT int armci_domain_my_id(armci_domain_t) {
  return world().me;
}
RMQ_EXPORT int armci_domain_count(armci_domain_t) {
  return static_cast<int>(world().size);
}
RMQ_EXPORT int armci_domain_same_id(armci_domain_t, int proc) {
  return proc == world().me;
}
RMQ_EXPORT void ARMCIX_Progress(void) {
  detail::poll();
}
}

}  // namespace rmq::armci
