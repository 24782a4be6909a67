// SPDX-License-Identifier: BSD-3-Clause
// The launcher runs as two processes, so that kill -9 of either leaves nothing behind:
//
//   front   (the process the user started)  forwards signals, waits, exits with the job's code
//    └─ keeper                              starts and serves the ranks (tools/launch/keeper.hpp)
//        ├─ rank 0
//        └─ rank 1 …
//
// The front dies: the keeper sees the end of a socket that only the front holds (the leash) and kills all its
// descendants. Through the same socket come the signals that the front passes on, a byte each, and the keeper sends
// each back: one that stands still when somebody wants the job to end is known by that, and the front ends all itself,
// by SIGTERM after 2 s and SIGKILL 2 s later. The keeper dies: the kernel kills the ranks (PR_SET_PDEATHSIG); what they
// had started themselves is adopted by the front, which kills it. Both are subreapers, so no grandchild escapes by
// losing its parent.
#pragma once

#include <signal.h>

#include <functional>

#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// Forks; runs `keep` in the keeper with the leash, the pipe for the ranks' table (tools/launch/debug.hpp; to be closed
/// when all ranks have been started) and the signal mask of the ranks, and exits there with what it returns. In the
/// front: returns the launcher's exit code when the keeper has ended. `of_keeper`: a descriptor that is the keeper's
/// alone; -1: none. To be called with one thread only.
int run_kept(const std::function<int(UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask)>& keep,
             int of_keeper = -1);

/// In the keeper, for as long as `loop` runs: tells of each signal that the front passes on; when the front is gone,
/// kills all descendants and ends this process.
void obey_front(EventLoop& loop, int leash, std::function<void(int signal)> on_signal);

}  // namespace rmq::launch
