// SPDX-License-Identifier: BSD-3-Clause
// What a program that draws one random program after another begins with: its seeds, and who tells which one is running
// when it has to end.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace torture {

struct Seeds {
  unsigned long first, count;
};

/// --seed N [--count N]; `count`: without the latter.
inline Seeds read_seeds(int argc, char** argv, unsigned long count = 1) {
  Seeds seeds{1, count};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seed") seeds.first = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--count") seeds.count = std::strtoul(argv[i + 1], nullptr, 10);
  }
  return seeds;
}

inline char now[80];  // which program runs, for whoever ends it

inline void tell(int) {
  ssize_t ignored = write(2, now, sizeof now);
  (void)ignored;
  _exit(4);
}

/// Who sends SIGTERM hears which program runs; so does everybody when it takes longer than the next one may.
inline void tell_when_ended() {
  signal(SIGALRM, tell);
  signal(SIGTERM, tell);
}

/// Processes share the machine's CPUs: with more of them a program may take longer.
inline void begin_program(unsigned long seed, int process, int processes) {
  alarm(60 + 2 * static_cast<unsigned>(processes));
  std::snprintf(now, sizeof now, "hangs or fails: seed %lu, rank %d\n", seed, process);
}

}  // namespace torture
