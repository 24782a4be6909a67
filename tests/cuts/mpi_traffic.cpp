// SPDX-License-Identifier: BSD-3-Clause
// Verified MPI traffic while connections of each rank break at random: messages of all protocols, collectives, windows.
//   mpi_traffic CUTS [EVERY_US] [SEED]      until so many have broken in the whole job
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cuts/cutter.hpp"

namespace {

int rank, size;

void require(bool ok, const char* what, long at) {
  if (ok) return;
  std::fprintf(stderr, "mpi_traffic: rank %d: %s (%ld)\n", rank, what, at);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

unsigned char byte_of(long round, int from, long at) {
  return static_cast<unsigned char>((static_cast<unsigned long>(at) * 2654435761u +
                                     static_cast<unsigned long>(round) * 97 + static_cast<unsigned long>(from)) >>
                                    7);
}

void fill(std::vector<unsigned char>& to, long round, int from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = byte_of(round, from, static_cast<long>(i));
}

void check(const std::vector<unsigned char>& got, long round, int from, const char* what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    require(got[i] == byte_of(round, from, static_cast<long>(i)), what, static_cast<long>(i));
  }
}

// To all others at once, each protocol: a cache line, short, eager, rendezvous of one and of several packets.
void messages(long round) {
  static constexpr std::size_t kSizes[] = {8, 700, 20000, 65536, 300000, 4 << 20};
  const std::size_t bytes = kSizes[round % 6];
  const int shifts = bytes > 65536 ? 1 : size - 1;
  std::vector<unsigned char> out(bytes);
  fill(out, round, rank);
  std::vector<std::vector<unsigned char>> in(static_cast<std::size_t>(shifts), std::vector<unsigned char>(bytes));
  std::vector<MPI_Request> all(static_cast<std::size_t>(2 * shifts));
  for (int k = 0; k < shifts; ++k) {
    const int from = (rank + size - 1 - k) % size, to = (rank + 1 + k) % size;
    MPI_Irecv(in[static_cast<std::size_t>(k)].data(), static_cast<int>(bytes), MPI_BYTE, from, 7, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(2 * k)]);
    MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, to, 7, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(2 * k + 1)]);
  }
  MPI_Waitall(2 * shifts, all.data(), MPI_STATUSES_IGNORE);
  for (int k = 0; k < shifts; ++k) {
    check(in[static_cast<std::size_t>(k)], round, (rank + size - 1 - k) % size, "a message is damaged");
  }
}

// A stream of small messages in order.
void stream(long round) {
  constexpr int kCount = 300;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<long> out(kCount), in(kCount);
  std::vector<MPI_Request> all(2 * kCount);
  for (int i = 0; i < kCount; ++i) {
    out[static_cast<std::size_t>(i)] = round * 1000 + i;
    MPI_Irecv(&in[static_cast<std::size_t>(i)], 1, MPI_LONG, from, 8, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < kCount; ++i) {
    MPI_Isend(&out[static_cast<std::size_t>(i)], 1, MPI_LONG, to, 8, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(kCount + i)]);
  }
  MPI_Waitall(2 * kCount, all.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < kCount; ++i) require(in[static_cast<std::size_t>(i)] == round * 1000 + i, "out of order", i);
}

// Puts, gets and sums through fences and locks.
void windows(MPI_Win win, std::vector<long>& memory, long round) {
  constexpr int kBlock = 20000;  // longs of a put: more than an eager packet
  const int to = (rank + 1) % size;
  MPI_Win_fence(0, win);
  memory[0] = 0;
  MPI_Win_fence(0, win);
  std::vector<long> block(kBlock), back(kBlock);
  for (int i = 0; i < kBlock; ++i) block[static_cast<std::size_t>(i)] = round * 100000 + i + rank;
  MPI_Put(block.data(), kBlock, MPI_LONG, to, 1, kBlock, MPI_LONG, win);
  const long one = 1;
  for (int k = 0; k < size; ++k) MPI_Accumulate(&one, 1, MPI_LONG, k, 0, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  require(memory[0] == size, "a sum is wrong", memory[0]);
  const int from = (rank + size - 1) % size;
  for (int i = 0; i < kBlock; ++i) {
    require(memory[static_cast<std::size_t>(i + 1)] == round * 100000 + i + from, "a put is damaged", i);
  }
  MPI_Win_fence(0, win);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Get(back.data(), kBlock, MPI_LONG, to, 1, kBlock, MPI_LONG, win);
  MPI_Win_unlock(to, win);
  require(back == block, "a get is damaged", 0);
  long before = 0;
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 20; ++k) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) require(memory[0] == size + 20L * size, "an atomic sum is wrong", memory[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const long wanted = argc > 1 ? std::atol(argv[1]) : 100;
  const unsigned every = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2000;
  const unsigned long seed = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<long> memory(20001);
  MPI_Win win;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(long)), sizeof(long), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  auto cutter = std::make_unique<rmq::test::CuttingThread>(seed * 1000 + static_cast<unsigned long>(rank), every);
  long cuts = 0, rounds = 0;
  while (cuts < wanted) {
    messages(rounds);
    stream(rounds);
    windows(win, memory, rounds);
    const long mine = static_cast<long>(cutter->cuts());
    MPI_Allreduce(&mine, &cuts, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    ++rounds;
  }
  MPI_Win_free(&win);
  cutter->stop();
  if (rank == 0) std::printf("%ld cuts in %ld rounds of %d ranks: nothing lost\n", cuts, rounds, size);
  MPI_Finalize();
  return 0;
}
