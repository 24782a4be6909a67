// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// MPI_THREAD_MULTIPLE: each thread with a window of its own. What one rank has put before a fence is there behind it
// for every other rank that gets it, also while threads compete for the device, so that ranks leave the fence at very
// different times.
#include <thread>

#include "win_test.hpp"

namespace {

constexpr int kThreads = 4, kRounds = 12, kCount = 512;

void third_party(LongWindow& w, int id) {
  const int n = check::size(), me = check::rank();
  std::vector<long> data(kCount);
  MPI_Win_fence(0, w.win);
  for (int round = 0; round < kRounds; ++round) {
    const int writer = round % n, target = (writer + 1 + round / n % 2) % n;
    const long value = 100 * id + round;
    data.assign(data.size(), me == writer ? value : -1);
    if (me == writer) MPI_Put(data.data(), kCount, MPI_LONG, target, 0, kCount, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    if (me != writer) MPI_Get(data.data(), kCount, MPI_LONG, target, 0, kCount, MPI_LONG, w.win);
    MPI_Win_fence(0, w.win);
    CHECK(data == std::vector<long>(kCount, value));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (const int flavor : kFlavors) {
    LongWindow a(flavor, kCount), b(flavor, kCount), c(flavor, kCount), d(flavor, kCount);
    LongWindow* const windows[kThreads] = {&a, &b, &c, &d};
    std::vector<std::thread> threads;
    for (int id = 0; id < kThreads; ++id) threads.emplace_back([&, id] { third_party(*windows[id], id); });
    for (std::thread& t : threads) t.join();
  }
  return check::finish();
}
