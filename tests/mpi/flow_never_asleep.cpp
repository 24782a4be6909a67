// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A message gets through behind more than the receiver has credit for, also to a rank that waits without ever sleeping.
#include <cstdlib>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  constexpr int kMessages = 500, kBytes = 1000;  // far beyond the credit
  ::setenv("RMQ_WAIT", "yield", 1);
  ::setenv("RMQ_UNEXPECTED_MAX", "64K", 1);
  MPI_Init(&argc, &argv);
  std::vector<char> data(static_cast<std::size_t>(kMessages + 1) * kBytes);
  std::vector<MPI_Request> requests(kMessages + 1);
  const auto part = [&](int i) { return &data[static_cast<std::size_t>(i) * kBytes]; };
  const auto tag = [](int i) { return i == kMessages ? 2 : 1; };
  if (check::rank() == 0) {
    for (int i = 0; i <= kMessages; ++i) {
      *part(i) = static_cast<char>(i);
      MPI_Isend(part(i), kBytes, MPI_CHAR, 1, tag(i), MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
    }
    MPI_Waitall(kMessages + 1, requests.data(), MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(part(kMessages), kBytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(*part(kMessages) == static_cast<char>(kMessages));
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(part(i), kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(*part(i) == static_cast<char>(i));
    }
  }
  return check::finish();
}
