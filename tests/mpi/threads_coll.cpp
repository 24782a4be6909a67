// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// MPI_THREAD_MULTIPLE: each thread runs non-blocking collectives on a communicator of its own, with operations that
// call MPI; whichever thread polls moves them on.
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kThreads = 4;

void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  int size = 0;
  MPI_Type_size(*type, &size);
  CHECK(size == sizeof(int));
  for (int i = 0; i < *n; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void work(MPI_Comm comm, MPI_Op op, int id) {
  const int p = check::size(comm), me = check::rank(comm);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> mine(static_cast<std::size_t>(1 + id * 1000), me + round), sum(mine.size()), first(mine);
    const int n = static_cast<int>(mine.size());
    MPI_Request r[3];
    MPI_Iallreduce(mine.data(), sum.data(), n, MPI_INT, op, comm, &r[0]);
    MPI_Ibcast(first.data(), n, MPI_INT, 0, comm, &r[1]);
    MPI_Ibarrier(comm, &r[2]);
    if (round % 2) {
      MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    } else {
      for (int flag = 0; !flag;) MPI_Testall(3, r, &flag, MPI_STATUSES_IGNORE);
    }
    CHECK(sum.front() == p * (p - 1) / 2 + p * round && sum.back() == sum.front());
    CHECK(first.front() == round && first.back() == round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id)
    threads.emplace_back([&, id] { work(comms[static_cast<std::size_t>(id)], op, id); });
  for (std::thread& t : threads) t.join();
  for (MPI_Comm& c : comms) MPI_Comm_free(&c);
  MPI_Op_free(&op);
  return check::finish();
}
