// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// MPI_Comm_disconnect waits for what is under way on its communicator, and for nothing else.
#include <unistd.h>

#include <vector>

#include "check.hpp"

namespace {

constexpr int kLong = 1 << 20;  // ints: goes by rendezvous

MPI_Comm duplicate() {
  MPI_Comm d;
  MPI_Comm_dup(MPI_COMM_WORLD, &d);
  return d;
}

void disconnect(MPI_Comm d) {
  MPI_Comm_disconnect(&d);
  CHECK(d == MPI_COMM_NULL);
}

/// The receiver comes late, so that a disconnect that does not wait is found out by what is written after it.
void waits_for_a_send_that_was_freed() {
  MPI_Comm d = duplicate();
  std::vector<int> data(kLong, 7);
  if (check::rank() == 0) {
    MPI_Request r;
    MPI_Isend(data.data(), kLong, MPI_INT, 1, 0, d, &r);
    MPI_Request_free(&r);
    disconnect(d);
    data.assign(data.size(), -1);
  } else {
    ::usleep(20'000);
    data.assign(data.size(), 0);
    MPI_Recv(data.data(), kLong, MPI_INT, 0, 0, d, MPI_STATUS_IGNORE);
    for (const int x : {data.front(), data[kLong / 2], data.back()}) CHECK(x == 7);
    disconnect(d);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void waits_for_a_receive() {
  MPI_Comm d = duplicate();
  int data = 0;
  if (check::rank() == 0) {
    MPI_Request r;
    MPI_Irecv(&data, 1, MPI_INT, 1, 0, d, &r);
    disconnect(d);
    CHECK(data == 7);
    MPI_Status status;
    MPI_Wait(&r, &status);  // the request outlives the communicator
    CHECK(status.MPI_SOURCE == 1 && r == MPI_REQUEST_NULL);
  } else {
    ::usleep(20'000);
    data = 7;
    MPI_Send(&data, 1, MPI_INT, 0, 0, d);
    disconnect(d);
  }
}

void waits_for_a_collective() {
  MPI_Comm d = duplicate();
  int data = check::rank() == 0 ? 7 : 0, sum = 0;
  MPI_Request r;
  if (check::rank() == 1) ::usleep(20'000);
  MPI_Iallreduce(&data, &sum, 1, MPI_INT, MPI_SUM, d, &r);
  disconnect(d);
  CHECK(sum == 7);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

void waits_for_nothing_else() {
  MPI_Comm d = duplicate();
  const int other = 1 - check::rank(), one = 1;
  int from_world = 0, from_d = 0;
  MPI_Request elsewhere, idle, done[2];
  MPI_Irecv(&from_world, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &elsewhere);  // served after the disconnect
  MPI_Recv_init(&from_d, 1, MPI_INT, other, 0, d, &idle);                    // never started
  MPI_Irecv(&from_d, 1, MPI_INT, other, 1, d, &done[0]);
  MPI_Isend(&one, 1, MPI_INT, other, 1, d, &done[1]);
  disconnect(d);
  MPI_Waitall(2, done, MPI_STATUSES_IGNORE);
  CHECK(from_d == 1);
  MPI_Request_free(&idle);
  MPI_Send(&one, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  MPI_Wait(&elsewhere, MPI_STATUS_IGNORE);
  CHECK(from_world == 1);
}

void refuses_the_world() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Comm_disconnect(&world), MPI_ERR_COMM);
  CHECK(world == MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  waits_for_a_send_that_was_freed();
  waits_for_a_receive();
  waits_for_a_collective();
  waits_for_nothing_else();
  refuses_the_world();
  return check::finish();
}
