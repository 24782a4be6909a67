// SPDX-License-Identifier: BSD-3-Clause
// The processes below the launcher, grandchildren and orphans included.
//
// A launcher process makes itself the subreaper of its descendants: whatever loses its parent becomes its child, so
// that "no children left" means "nothing left behind".
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace rmq::launch {

/// From now on orphaned descendants become children of this process.
void adopt_orphans();

/// Whether this process has any child, one that waits to be reaped included.
bool has_children();

/// All living descendants of this process, from /proc; empty when that is not mounted.
std::vector<pid_t> descendants();

/// What the kernel tells of a process, from /proc/<pid>/stat.
struct ProcessStat {
  char state = '\0';  // as ps has it: 'R', 'S', 'T', 'Z' ...; '\0': there is no such process, or no /proc
  int parent = 0;     // process id
  unsigned flags = 0;
  int threads = 0;
  /// Gone, or waiting only to be reaped. A process whose first thread has ended is a 'Z' too, and lives as long as it
  /// has more of them.
  bool is_dead() const { return state == '\0' || state == 'X' || (state == 'Z' && threads <= 1); }
};
ProcessStat process_stat(pid_t pid);

/// Whether the process is on its way out: from the first step of its exit, before its sockets close, or gone; not when
/// only some of its threads end. What others miss of it they may report before its parent can hear of its end. False
/// when /proc is not mounted.
bool is_ending(pid_t pid);

/// The state of a process in a word: "running", "sleeping", "stopped", "in the kernel", "gone".
std::string process_state(pid_t pid);

/// Sends `signal` to all descendants, and to nobody who has only got the number of one. Not to `spare` and its
/// descendants (0: no exception); only to those children for which `which` is true, and their descendants, where it is
/// given.
void signal_descendants(int signal, pid_t spare = 0, const std::function<bool(pid_t child)>& which = {});

/// Reaps the children that have ended and tells of each, with its wait status; false when there is no child any more.
bool reap_children(const std::function<void(pid_t pid, int status)>& ended);

/// Kills all descendants with SIGKILL and reaps them; returns when none is left, or after 2 s (a process that sleeps in
/// the kernel uninterruptibly dies when it wakes).
void kill_descendants();

/// The same for those children only for which `which` is true, and their descendants; without reaping anybody.
void kill_descendants(const std::function<bool(pid_t child)>& which);

}  // namespace rmq::launch
