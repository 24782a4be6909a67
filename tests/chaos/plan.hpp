// SPDX-License-Identifier: BSD-3-Clause
// What one job of chaos is: drawn from a seed, and from nothing else, so that a failure can be had again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rmq::test {

enum class Trouble : std::uint8_t {
  none,
  kill_rank,        // SIGKILL
  kill_front,       // the process that the user has started
  kill_keeper,      // its child, which keeps the ranks
  stop_rank,        // SIGSTOP, and later SIGCONT
  stop_keeper,      // the same
  few_descriptors,  // RLIMIT_NOFILE, of rmqrun and the ranks
  few_in_ranks,     // of the ranks alone
  little_memory,    // RLIMIT_AS
  full_trace,       // the trace folder's disk is full at some time
  small_shm,        // and a /dev/shm that is too small, with segments there
  no_peer_memory,   // process_vm_readv and process_vm_writev are refused
  strangers,        // junk on every port on which a rank listens
  count
};

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 2;
  std::vector<std::string> way;       // options of rmqrun
  std::vector<std::string> settings;  // NAME=VALUE for the ranks
  int steps = 1;                      // of the traffic
  Trouble trouble = Trouble::none;
  int victim = 0;           // rank
  int after_ms = 0;         // from the start of the job to the trouble
  int pause_ms = 0;         // how long a stop lasts
  std::uint64_t limit = 0;  // descriptors, or bytes of memory or disk
};

/// `pause_ms`: how long what is stopped stays so.
Plan draw_plan(std::uint64_t seed, int pause_ms);

const char* name_of(Trouble trouble);
/// On one line, for whoever reads the log.
std::string describe(const Plan& plan);

}  // namespace rmq::test
