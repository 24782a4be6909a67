// SPDX-License-Identifier: BSD-3-Clause
// Few connections, and ranks that compute, or have yet to start: nobody who waits for a message waits for them. They
// are away from MPI until a file is there, which rank 0 makes when all its messages are through.
//
//   few_links computing FILE     each rank computes as soon as it has its message
//   few_links late FILE          ranks 1 and 2 start when the last rank has answered
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void compute_until(const char* file) {
  while (::access(file, F_OK) != 0) ::usleep(1000);
}
void make(const char* file) {
  if (std::FILE* made = std::fopen(file, "w")) std::fclose(made);
}

void send(int to) {
  MPI_Send(&to, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
}
void receive() {
  int x;
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const rank_text = std::getenv("RMQ_RANK");
  if (argc != 3 || rank_text == nullptr) return 2;
  const bool late = std::strcmp(argv[1], "late") == 0;
  const int before = std::atoi(rank_text);
  if (late && (before == 1 || before == 2)) compute_until(argv[2]);
  MPI_Init(&argc, &argv);
  int me, n;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (late && me == 0) {
    MPI_Request under_way[2];
    for (int to = 1; to <= 2; ++to) MPI_Isend(&to, 0, MPI_INT, to, 1, MPI_COMM_WORLD, &under_way[to - 1]);
    send(n - 1);
    receive();
    make(argv[2]);
    MPI_Waitall(2, under_way, MPI_STATUSES_IGNORE);
  } else if (late) {
    receive();
    if (me == n - 1) send(0);
  } else {
    if (me == 0) std::remove(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
      for (int to = 1; to < n; ++to) send(to);
      make(argv[2]);
    } else {
      receive();
      compute_until(argv[2]);
    }
  }
  MPI_Finalize();
  if (me == 0) std::remove(argv[2]);
  return 0;
}
