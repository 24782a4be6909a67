// SPDX-License-Identifier: BSD-3-Clause
// A distributed histogram by one-sided aggregation: each rank owns a range of bins, draws random keys, and fires each
// at the owner of its bin as an active message. Verified against the same count without messages.
//   rmqrun -n 4 histogram [keys per rank] [bins]
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "active_messages.hpp"

namespace {

// SplitMix64 (S. Vigna, 2015): a stream of its own for each rank.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

Random keys_of(int rank) {
  return Random{static_cast<std::uint64_t>(rank + 1) << 32};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long keys = argc > 1 ? std::atol(argv[1]) : 100000;
  const auto bins = static_cast<std::uint64_t>(argc > 2 ? std::atol(argv[2]) : 1 << 16);
  bool right = false;
  {
    std::vector<long> mine(bins / static_cast<std::uint64_t>(size) + 1, 0);
    long counted = 0;
    ActiveMessages am(MPI_COMM_WORLD);
    const int count = am.add([&](int, const void* data) {
      std::uint64_t bin;
      std::memcpy(&bin, data, sizeof bin);
      ++mine[bin / static_cast<std::uint64_t>(size)];
      ++counted;
    });

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    Random key = keys_of(rank);
    std::vector<long> fired(static_cast<std::size_t>(size), 0), due(static_cast<std::size_t>(size), 0);
    for (long i = 0; i < keys; ++i) {
      const std::uint64_t bin = key() % bins;
      const auto owner = static_cast<std::size_t>(bin % static_cast<std::uint64_t>(size));
      am.fire(static_cast<int>(owner), count, &bin, sizeof bin);
      ++fired[owner];
      if (i % 64 == 0) am.drain();
    }
    // Tell everybody how many to expect, and go on emptying until all have come.
    std::vector<MPI_Request> told(2 * static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      MPI_Irecv(&due[i], 1, MPI_LONG, r, 0, MPI_COMM_WORLD, &told[2 * i]);
      MPI_Isend(&fired[i], 1, MPI_LONG, r, 0, MPI_COMM_WORLD, &told[2 * i + 1]);
    }
    for (int all = 0; !all;) {
      am.drain();
      MPI_Testall(2 * size, told.data(), &all, MPI_STATUSES_IGNORE);
    }
    const long expected = std::accumulate(due.begin(), due.end(), 0L);
    while (counted < expected) am.drain();
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;

    std::vector<long> again(mine.size(), 0);
    for (int r = 0; r < size; ++r) {
      Random other = keys_of(r);
      for (long i = 0; i < keys; ++i) {
        const std::uint64_t bin = other() % bins;
        if (bin % static_cast<std::uint64_t>(size) == static_cast<std::uint64_t>(rank)) {
          ++again[bin / static_cast<std::uint64_t>(size)];
        }
      }
    }
    right = mine == again;
    if (rank == 0)
      std::printf("%ld keys on %d ranks: %.2f million updates a second\n", keys * size, size,
                  static_cast<double>(keys) * size / seconds / 1e6);
    if (!right) std::fprintf(stderr, "rank %d: wrong counts\n", rank);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
