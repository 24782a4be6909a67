// SPDX-License-Identifier: BSD-3-Clause
// Process sets that the user has named (rmqrun --pset, RMQ_PSETS), as MPI's sessions find them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/ranks.hpp"

namespace rmq {

struct ProcessSet {
  std::string name;
  Ranks ranks;  // world ranks, in the order in which they were listed
};

/// Longest name, without a final zero, in bytes: MPI's, and MPI_MAX_PSET_NAME_LEN fits it.
inline constexpr std::size_t max_set_name = 255;

/// "ocean=0-3,7;ice=4-6": sets separated by ';', ranks and ranges by ','. `size`: ranks of the job; 0: not known, so
/// that any rank is taken. Errc::argument says what is wrong with which set: no name, one that is taken ("mpi://…",
/// "rmq://…", one twice), no ranks, ranks that are no numbers, too large, or named twice.
Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, int size);

}  // namespace rmq
