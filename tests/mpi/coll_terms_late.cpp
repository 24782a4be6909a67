// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// The first collective waits for what rank 0 settles, which is late; meanwhile the other threads of a rank, and other
// ranks through it, go on: rank 0 comes only after them.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "check.hpp"

namespace {

std::string flag() {
  return std::string("/tmp/rmq-terms-late-") + std::getenv("RMQ_JOB");
}

// Where all share memory nobody begins before rank 0.
bool rank_0_may_be_late() {
  const char* methods = std::getenv("RMQ_METHODS");
  return !methods || std::strstr(methods, "tcp");
}

void exchange(int me, MPI_Comm comm) {
  for (int i = 0, got = -1; i < 100; ++i) {
    MPI_Sendrecv(&i, 1, MPI_INT, 3 - me, 7, &got, 1, MPI_INT, 3 - me, 7, comm, MPI_STATUS_IGNORE);
    CHECK(got == i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool first = std::strcmp(std::getenv("RMQ_RANK"), "0") == 0;
  if (first && rank_0_may_be_late()) {
    while (::access(flag().c_str(), F_OK) != 0) ::usleep(1000);
    ::unlink(flag().c_str());
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  const int me = check::rank();
  // The first collective in the background over shm and tcp, at once over both.
  int value = me == 0 ? 5 : 0, sum = 0;
  std::thread collective([&] {
    MPI_Request r;
    if (std::getenv("RMQ_METHODS")) {
      MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  if (me > 0) {
    ::usleep(200'000);  // the others wait by now, most likely
    exchange(me, MPI_COMM_WORLD);
  }
  if (me == 1 && rank_0_may_be_late()) std::fclose(std::fopen(flag().c_str(), "w"));
  collective.join();
  CHECK(value == 5 && sum == 3);
  return check::finish();
}
