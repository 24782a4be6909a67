// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// MPI_THREAD_MULTIPLE: pairs of threads exchange messages at once, each with its own tag or communicator; blocked
// receives of one thread do not hold back another; communicators are made by several threads at once; callbacks call
// MPI.
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kThreads = 4;

void exchange(int id, MPI_Comm comm, int rounds) {
  const int other = 1 - check::rank(comm);
  std::vector<int> out(static_cast<std::size_t>(1 + 5000 * id)), in(out.size());
  const int n = static_cast<int>(out.size());
  for (int i = 0; i < rounds; ++i) {
    out.assign(out.size(), id * 1000 + i);
    MPI_Request r;
    MPI_Isend(out.data(), n, MPI_INT, other, id, comm, &r);
    MPI_Recv(in.data(), n, MPI_INT, other, id, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in == out);
  }
}

template <class F>
void in_threads(F&& f) {
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) threads.emplace_back([&f, id] { f(id); });
  for (std::thread& t : threads) t.join();
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  in_threads([](int id) { exchange(id, MPI_COMM_WORLD, 200); });

  // One thread waits for a message that only another thread's traffic brings about.
  if (check::rank() == 0) {
    std::thread waiter([] { MPI_Recv(nullptr, 0, MPI_INT, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    MPI_Send(nullptr, 0, MPI_INT, 1, 51, MPI_COMM_WORLD);
    waiter.join();
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(nullptr, 0, MPI_INT, 0, 50, MPI_COMM_WORLD);
  }

  MPI_Comm parents[kThreads];
  for (MPI_Comm& c : parents) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  in_threads([&](int id) {
    for (int i = 0; i < 20; ++i) {
      MPI_Comm d, self;
      MPI_Comm_dup(parents[id], &d);
      MPI_Comm_dup(MPI_COMM_SELF, &self);  // needs no agreement, also while others are under way
      MPI_Comm_free(&self);
      exchange(id, d, 2);
      MPI_Comm_free(&d);
    }
  });
  for (MPI_Comm& c : parents) MPI_Comm_free(&c);
  return check::finish();
}
