// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A rank that sleeps finds what has woken it, by whichever method it has come, before it sleeps again.
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include "check.hpp"

namespace {

// More ranks than CPUs: there an idle rank goes to sleep again after each poll that brings nothing.
void crowd_onto_two_cpus() {
  cpu_set_t all, two;
  CPU_ZERO(&two);
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &two);
  ::sched_setaffinity(0, sizeof two, &two);
}

unsigned long long sleeps() {
  static MPI_T_pvar_session session;
  static MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  if (handle == MPI_T_PVAR_HANDLE_NULL) {
    int provided = 0, index = -1, count = 0;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index("rmq_sleeps", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
  }
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kMessages = 15;
  constexpr unsigned kApart_us = 100000;
  crowd_onto_two_cpus();
  ::setenv("RMQ_YIELD", "1us", 1);
  MPI_Init(&argc, &argv);
  // In a mixed job rank 1 has rank 2 on its host, and rank 0 elsewhere.
  for (const int sender : {0, 2}) {
    MPI_Barrier(MPI_COMM_WORLD);  // or the next sender's messages wake rank 1 too
    for (int i = -1; i < kMessages; ++i) {
      static unsigned long long before;
      if (i == 0) before = sleeps();  // the connection is there
      int word = i;
      if (check::rank() == sender) {
        ::usleep(kApart_us);
        MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      } else if (check::rank() == 1) {
        // So many turns without a message, and the method that is not the first is looked at but now and then.
        for (int turn = 0, flag = 0; turn < 500 && flag == 0; ++turn)
          MPI_Iprobe(sender, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(word == i);
        if (i + 1 == kMessages) CHECK(sleeps() - before <= 2 * kMessages);
      }
    }
  }
  return check::finish();
}
