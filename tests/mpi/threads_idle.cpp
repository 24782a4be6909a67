// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A rank with several threads that all wait for a message sleeps: it does not look again and again whether one of them
// has to be woken. Counted, not timed: turns that it has given up of its own accord in a second.
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kThreads = 4;
constexpr long kMost = 100;  // of them all, where once it was a thousand

long turns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 1) {
    sleep(2);
    for (int i = 0; i < kThreads; ++i) MPI_Send(nullptr, 0, MPI_INT, 0, i, MPI_COMM_WORLD);
  } else {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([i] { MPI_Recv(nullptr, 0, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    usleep(500'000);  // all of them are asleep
    const long before = turns();
    sleep(1);
    const long after = turns();
    for (std::thread& thread : threads) thread.join();
    if (after - before >= kMost) std::fprintf(stderr, "%ld turns\n", after - before);
    CHECK(after - before < kMost);
  }
  return check::finish();
}
