// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Whoever waits for processes beyond its communicator, in MPI_Comm_accept, MPI_Comm_connect or MPI_Comm_spawn, comes
// back when that is revoked or a member of it dies: there would be no communicator for all any more. All come back with
// the same class.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "ft/alike.hpp"
#include "mpi/check.hpp"

namespace {

using check::class_of;

enum class Waits { accept, connect, spawn };

/// A process that says nothing, and ends by itself: nobody waits for it.
const char* const kMute = "/bin/sleep";

int wait_in(Waits waits, MPI_Comm c, char* port) {
  MPI_Comm made = MPI_COMM_NULL;
  char seconds[] = "1";
  char* arguments[] = {seconds, nullptr};
  const int code = waits == Waits::accept ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, c, &made)
                   : waits == Waits::connect
                       ? MPI_Comm_connect(port, MPI_INFO_NULL, 0, c, &made)
                       : MPI_Comm_spawn(kMute, arguments, 1, MPI_INFO_NULL, 0, c, &made, MPI_ERRCODES_IGNORE);
  CHECK(code == MPI_SUCCESS || made == MPI_COMM_NULL);
  return class_of(code);
}

}  // namespace

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = check::rank(), last = check::size() - 1;
  // Nobody connects to it, or accepts there.
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 1) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 1, MPI_COMM_WORLD);
  char own[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, own);
  for (const Waits waits : {Waits::accept, Waits::connect, Waits::spawn}) {
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    std::thread revokes;
    if (rank == last) {
      revokes = std::thread([c] {
        usleep(100'000);  // most probably all wait by then
        MPIX_Comm_revoke(c);
      });
    }
    const int code = wait_in(waits, c, waits == Waits::accept ? own : port);
    CHECK(code == MPIX_ERR_REVOKED);
    if (revokes.joinable()) revokes.join();
    MPI_Comm_free(&c);
  }
  for (const Waits waits : {Waits::accept, Waits::connect}) {
    MPI_Comm c;
    int size = 0;
    MPIX_Comm_shrink(MPI_COMM_WORLD, &c);
    MPI_Comm_size(c, &size);
    std::thread dies;
    int place = 0;
    MPI_Comm_rank(c, &place);
    if (place == size - 1) {
      dies = std::thread([] {
        usleep(100'000);
        raise(SIGKILL);
      });
    }
    const int code = wait_in(waits, c, waits == Waits::accept ? own : port);
    CHECK(code == MPIX_ERR_PROC_FAILED);
    CHECK(are_alike(c, code));
    if (dies.joinable()) dies.join();
    MPI_Comm_free(&c);
  }
  return check::finish();
}
