// SPDX-License-Identifier: BSD-3-Clause
// Ranks as real processes: a job whose start-up board lies in memory that is shared across fork(). For what one process
// cannot show: sleeping and waking, sudden death, memory that is not the same.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "start/bootstrap.hpp"

namespace rmq::test {

/// A job of `size` ranks on one host. Made before the fork; each process then joins as the rank that it is. A rank that
/// is killed takes no lock with it.
class ForkedJob {
 public:
  explicit ForkedJob(int size);
  ~ForkedJob();
  ForkedJob(const ForkedJob&) = delete;
  ForkedJob& operator=(const ForkedJob&) = delete;

  /// The bootstrap of one rank; the job must outlive it. abort() ends the calling process.
  std::unique_ptr<Bootstrap> join(int rank) const;

  struct Board;

 private:
  Board* const board_;
  JobInfo job_;
};

/// Runs `rank_main(rank)` in `size` forked processes, its value their exit code, and waits for all of them. Returns
/// their wait statuses. One that takes longer than `watchdog_s` ends by SIGALRM. No threads may run in the caller.
std::vector<int> run_forked(int size, const std::function<int(int)>& rank_main, unsigned watchdog_s = 100);

/// Gives the calling process, which is root, a /dev/shm of its own with room for `size` ("2M"). False where the system
/// allows no private mounts.
bool private_dev_shm(const std::string& size);

}  // namespace rmq::test
