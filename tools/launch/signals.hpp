// Which signals a launcher process takes into its own hands. It handles them synchronously (signalfd, sigwaitinfo), so
// there are no handlers and no globals.
#pragma once

#include <initializer_list>
#include <signal.h>

namespace rmq::launch {

/// The signals that are forwarded to the ranks, and SIGCHLD and SIGPIPE.
inline sigset_t launcher_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGALRM, SIGWINCH, SIGCHLD, SIGPIPE})
    sigaddset(&set, signal);
  return set;
}

/// Blocks them from now on; returns the mask before, which the ranks are to start with.
inline sigset_t block_launcher_signals() {
  const sigset_t set = launcher_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &set, &before);
  return before;
}

/// Signals whose sender wants the job to end.
inline bool is_deadly(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

}  // namespace rmq::launch
