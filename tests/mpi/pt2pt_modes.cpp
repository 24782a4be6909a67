// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Synchronous sends wait for the receive; ready sends; buffered sends return at once and survive a slow receiver.

#include <vector>

#include "check.hpp"

namespace {

void synchronous() {
  int x = 1, flag = 0;
  if (check::rank() == 0) {
    MPI_Request r;
    MPI_Issend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r);
    for (int i = 0; i < 1000 && !flag; ++i) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);  // rank 1 receives only after the message below
    MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Ssend(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void ready() {
  std::vector<int> x(50000, check::rank());
  const int n = static_cast<int>(x.size());
  if (check::rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(x.data(), n, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Request r;
    MPI_Irecv(x.data(), n, MPI_INT, 0, 0, MPI_COMM_WORLD, &r);
    MPI_Send(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(x == std::vector<int>(x.size(), 0));
  }
}

void buffered() {
  constexpr int kLong = 500000, kMessages = 4;
  std::vector<int> data(kLong);
  if (check::rank() == 0) {
    int size;
    MPI_Pack_size(kLong, MPI_INT, MPI_COMM_WORLD, &size);
    std::vector<char> buffer(static_cast<std::size_t>(kMessages * (size + MPI_BSEND_OVERHEAD)));
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    for (int i = 0; i < kMessages; ++i) {
      data.assign(kLong, i);
      MPI_Bsend(data.data(), kLong, MPI_INT, 1, i, MPI_COMM_WORLD);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Bsend(data.data(), kLong, MPI_INT, 1, 99, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Buffer_attach(buffer.data(), 1), MPI_ERR_BUFFER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Send(nullptr, 0, MPI_INT, 1, 100, MPI_COMM_WORLD);
    void* address;
    MPI_Buffer_detach(&address, &size);
    CHECK(address == buffer.data() && size == static_cast<int>(buffer.size()));
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = kMessages - 1; i >= 0; --i) {
      MPI_Recv(data.data(), kLong, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(data == std::vector<int>(kLong, i));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  synchronous();
  ready();
  buffered();
  return check::finish();
}
