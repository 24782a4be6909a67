// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Threads that each declare their own partitions ready, and others that ask for theirs, at once.
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kThreads = 4, kEach = 8, kInts = 100, kRounds = 20;
constexpr std::size_t kAll = kThreads * kEach * kInts;

int value(int round, int partition, int i) {
  return round * 1000000 + partition * kInts + i;
}

void produce(std::vector<int>& data, int round, int thread, MPI_Request request) {
  for (int p = thread * kEach; p < (thread + 1) * kEach; ++p) {
    for (int i = 0; i < kInts; ++i) data[static_cast<std::size_t>(p * kInts + i)] = value(round, p, i);
    MPI_Pready(p, request);
  }
}

void consume(const std::vector<int>& data, int round, int thread, MPI_Request request, int& wrong) {
  for (int p = thread; p < kThreads * kEach; p += kThreads) {
    for (int flag = 0; !flag;) MPI_Parrived(request, p, &flag);
    for (int i = 0; i < kInts; ++i) wrong += data[static_cast<std::size_t>(p * kInts + i)] != value(round, p, i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  const bool sends = check::rank() == 0;
  std::vector<int> data(kAll, -1);
  MPI_Request request;
  if (sends) {
    MPI_Psend_init(data.data(), kThreads * kEach, kInts, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  } else {
    MPI_Precv_init(data.data(), kThreads * kEach, kInts, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  }
  for (int round = 0; round < kRounds; ++round) {
    MPI_Start(&request);
    std::vector<int> wrong(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        if (sends) {
          produce(data, round, t, request);
        } else {
          consume(data, round, t, request, wrong[static_cast<std::size_t>(t)]);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (const int w : wrong) CHECK(w == 0);
  }
  MPI_Request_free(&request);
  return check::finish();
}
