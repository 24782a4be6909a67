// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Probes tell before the receive; matched probes take the message out; cancel of receives and of sends.
#include <vector>

#include "check.hpp"

namespace {

void probes(int n) {
  std::vector<int> data(static_cast<std::size_t>(n), n);
  if (check::rank() == 0) {
    MPI_Request r[4];
    for (int tag = 0; tag < 4; ++tag) MPI_Isend(data.data(), n, MPI_INT, 1, tag, MPI_COMM_WORLD, &r[tag]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    return;
  }
  MPI_Status s;
  int count, flag = 0;
  MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
  MPI_Get_count(&s, MPI_INT, &count);
  CHECK(count == n && s.MPI_SOURCE == 0 && s.MPI_TAG == 0);
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &s);
  CHECK(s.MPI_TAG == 2);
  MPI_Message first, third;
  MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &s);
  CHECK(s.MPI_TAG == 0);
  flag = 0;
  while (!flag) MPI_Improbe(0, 2, MPI_COMM_WORLD, &flag, &third, &s);
  std::vector<int> got(data.size(), -1);
  MPI_Recv(got.data(), n, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
  CHECK(s.MPI_TAG == 1 && got == data);  // the first message is in nobody's queue any more
  MPI_Request r;
  MPI_Imrecv(got.data(), n, MPI_INT, &third, &r);
  MPI_Wait(&r, &s);
  CHECK(s.MPI_TAG == 2 && third == MPI_MESSAGE_NULL && got == data);
  MPI_Mrecv(got.data(), n, MPI_INT, &first, &s);
  CHECK(s.MPI_TAG == 0 && first == MPI_MESSAGE_NULL && got == data);
  MPI_Recv(got.data(), n, MPI_INT, 0, 3, MPI_COMM_WORLD, &s);
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &first, &s);
  CHECK(first == MPI_MESSAGE_NO_PROC && s.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Mrecv(got.data(), n, MPI_INT, &first, &s);
  CHECK(first == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL);
}

void cancel_receive() {
  int x, flag;
  MPI_Request r;
  MPI_Status s;
  MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
  MPI_Cancel(&r);
  MPI_Wait(&r, &s);
  MPI_Test_cancelled(&s, &flag);
  CHECK(flag == 1);
}

void cancel_send(int n) {
  std::vector<int> data(static_cast<std::size_t>(n), 1);
  if (check::rank() == 0) {
    MPI_Request r;
    MPI_Status s;
    int flag;
    MPI_Isend(data.data(), n, MPI_INT, 1, 5, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag == 1);  // rank 1 has no receive for it yet
    MPI_Send(&flag, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
  } else {
    int cancelled, flag;
    MPI_Recv(&cancelled, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the next message with this tag leaves when rank 1 has looked for this one
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int n : {1, 3000, 300000}) {
    probes(n);
    cancel_receive();
    cancel_send(n);
  }
  return check::finish();
}
