// SPDX-License-Identifier: BSD-3-Clause
// A program that gets itself workers: each counts the primes of a share of the numbers, with a setting of its own, and
// writes what it has to say into a pipe of the parent's. The parent parts from them, and looks at what they return.
//
//   rmqrun -n 1 workers       or, without a launcher,       workers
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <rmq/spawn.hpp>
#include <string>

namespace {

constexpr int kNumbers = 100000, kWorkers = 3;

int primes_between(int first, int end) {
  int count = 0;
  for (int n = first < 2 ? 2 : first; n < end; ++n) {
    bool prime = true;
    for (int d = 2; prime && d * d <= n; ++d) prime = n % d != 0;
    count += prime;
  }
  return count;
}

int work(MPI_Comm parent) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* share = std::getenv("SHARE");
  const int mine = share ? std::atoi(share) : rank;
  int count = primes_between(kNumbers / size * mine, mine == size - 1 ? kNumbers : kNumbers / size * (mine + 1));
  std::printf("worker %d has share %d\n", rank, mine);
  std::fflush(stdout);
  MPI_Reduce(&count, nullptr, 1, MPI_INT, MPI_SUM, 0, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 10 + rank;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return work(parent);

  int ends[2];
  if (::pipe(ends) != 0) return 1;
  rmq::Spawn spawn;
  auto& program = spawn.program(argv[0], {}, kWorkers).output_to(ends[1]);
  for (int i = 0; i < kWorkers; ++i) program.env_of(i, "SHARE", std::to_string(kWorkers - 1 - i));
  rmq::SpawnedWorld workers = spawn.start(MPI_COMM_SELF);
  int nothing = 0, primes = 0;
  MPI_Reduce(&nothing, &primes, 1, MPI_INT, MPI_SUM, MPI_ROOT, workers.comm());
  workers.disconnect();
  std::printf("%d primes below %d\n", primes, kNumbers);
  for (const int code : workers.wait()) std::printf("a worker returned %d\n", code);
  ::close(ends[1]);
  int lines = 0;
  for (char c; ::read(ends[0], &c, 1) == 1;) lines += c == '\n';
  std::printf("they have said %d lines\n", lines);
  MPI_Finalize();
  return 0;
}
