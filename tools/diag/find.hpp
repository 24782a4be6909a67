// SPDX-License-Identifier: BSD-3-Clause
// Why the ranks of a job do not get on: a wait-for graph over what they told, and the mistakes that it shows, by name.
#pragma once

#include <string>
#include <vector>

#include "tools/diag/job.hpp"

namespace rmq::diag {

struct Finding {
  std::string name;  // "wrong tag", "lock cycle" …: design/diagnosis.md has the list
  std::string text;  // one or two sentences
};

/// The likeliest cause first. Empty when nobody waits for anybody in vain, as far as can be told.
std::vector<Finding> find(const Job& job);  // cycles.cpp

// The parts of it, each in its own file.
void find_lost_ranks(const Job& job, std::vector<Finding>& to);        // messages.cpp
void find_bad_collectives(const Job& job, std::vector<Finding>& to);   // collectives.cpp
void find_dormant_requests(const Job& job, std::vector<Finding>& to);  // dormant.cpp
void find_near_misses(const Job& job, std::vector<Finding>& to);       // messages.cpp
void find_lost_waits(const Job& job, std::vector<Finding>& to);        // messages.cpp
void find_bad_epochs(const Job& job, std::vector<Finding>& to);        // windows.cpp
void find_cycles(const Job& job, std::vector<Finding>& to);            // cycles.cpp
void find_ends(const Job& job, std::vector<Finding>& to);              // cycles.cpp

/// Whom the wait is for: its peers; for a lock, who holds it as its owner tells.
std::vector<int> waited_for(const Job& job, const Rank& rank, const Wait& wait);

/// Who waits for this rank, directly.
std::vector<int> waiters_of(const Job& job, int rank);

/// The verdict, then a table by rank.
std::string describe(const Job& job);  // text.cpp

}  // namespace rmq::diag
