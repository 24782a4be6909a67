// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A flood of unexpected messages to a rank that sleeps stays under the published ceiling and loses nothing; and a
// message that the receiver wants gets through behind thousands that it does not want yet.
//   flow_flood [messages] [seconds of sleep]      defaults that suit a test run; try 1000000 5
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kBytes = 1024;

// Memory of this process in bytes; what the shared segment or a mapped trace takes is not counted.
long private_bytes() {
  long kb = 0;
  char line[256];
  std::FILE* f = std::fopen("/proc/self/status", "r");
  while (f && std::fgets(line, sizeof line, f)) {
    if (std::sscanf(line, "RssAnon: %ld", &kb) == 1) break;
  }
  if (f) std::fclose(f);
  return kb * 1024;
}

void fill(std::vector<char>& message, std::uint32_t number) {
  std::memset(message.data(), static_cast<int>(number % 251), message.size());
  std::memcpy(message.data(), &number, sizeof number);
}

void flood(std::uint32_t messages, unsigned seconds) {
  std::vector<char> message(kBytes), expected(kBytes);
  if (check::rank() == 0) {
    for (std::uint32_t i = 0; i < messages; ++i) {
      fill(message, i);
      MPI_Send(message.data(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
    return;
  }
  constexpr long kCeiling = 64L << 20;       // RMQ_UNEXPECTED_MAX
  constexpr long kAllocator = kCeiling / 4;  // what malloc may add
  constexpr long kCredit = 16L << 20;        // the most that one peer is given of it
  constexpr double kQuiet = 0.5;             // seconds
  const long before = private_bytes();
  ::sleep(seconds);
  // Now take into the unexpected queue, without receiving it, all that the sender may send: a probe that nothing
  // matches, until for a while no more has come.
  long filled = 0;
  for (double grew = MPI_Wtime(); MPI_Wtime() - grew < kQuiet;) {
    int flag;
    for (int i = 0; i < 1000; ++i) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    const long now = private_bytes() - before;
    if (now > filled) grew = MPI_Wtime();
    filled = std::max(filled, now);
  }
  std::printf("unexpected messages fill %ld bytes; the ceiling is %ld\n", filled, kCeiling);
  CHECK(filled < kCeiling + kAllocator);
  CHECK(filled > kCredit / 2);  // else the sender never met its limit, and nothing was tested
  bool whole = true;
  for (std::uint32_t i = 0; i < messages; ++i) {
    fill(expected, i);
    MPI_Recv(message.data(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    whole = whole && message == expected;
  }
  CHECK(whole);
}

void wanted_behind_unwanted() {
  constexpr int kUnwanted = 50000;
  std::vector<char> message(kBytes);
  if (check::rank() == 0) {
    std::vector<MPI_Request> all(kUnwanted + 1);
    for (int i = 0; i < kUnwanted; ++i) {
      MPI_Isend(message.data(), kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &all[static_cast<std::size_t>(i)]);
    }
    int wanted = 42;
    MPI_Isend(&wanted, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &all[kUnwanted]);
    MPI_Waitall(kUnwanted + 1, all.data(), MPI_STATUSES_IGNORE);
    return;
  }
  int wanted = 0;
  MPI_Recv(&wanted, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(wanted == 42);
  for (int i = 0; i < kUnwanted; ++i)
    MPI_Recv(message.data(), kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  flood(argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 200000,
        argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
  wanted_behind_unwanted();
  return check::finish();
}
