// SPDX-License-Identifier: BSD-3-Clause
// Which signals a launcher process takes into its own hands. It handles them synchronously (signalfd, sigwaitinfo), so
// there are no handlers and no globals.
#pragma once

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <functional>
#include <utility>

#include "base/error.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// Whether the parent has started this process so that the signal does not reach it, as nohup does for SIGHUP.
inline bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The signals that are forwarded to the ranks, and SIGCHLD and SIGPIPE. SIGHUP is not among them where it is ignored.
inline sigset_t launcher_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGALRM, SIGWINCH, SIGCHLD, SIGPIPE})
    if (signal != SIGHUP || !is_ignored(SIGHUP)) sigaddset(&set, signal);
  return set;
}

/// Blocks them from now on; returns the mask before, which the ranks are to start with. The terminal does not stop this
/// process any more when it reads or writes in the background: reading fails then (EIO).
inline sigset_t block_launcher_signals() {
  // A parent that ignores it (Python, trap '' CHLD) has its children ignore it too: the kernel would reap ours for us.
  signal(SIGCHLD, SIG_DFL);
  sigset_t set = launcher_signals(), before;
  sigaddset(&set, SIGTTIN);
  sigaddset(&set, SIGTTOU);
  sigprocmask(SIG_BLOCK, &set, &before);
  return before;
}

/// From now on `loop` tells of each of them, which must be blocked. The descriptor must live as
/// long as the loop runs. Errc::system.
inline Result<UniqueFd> receive_signals(EventLoop& loop, std::function<void(const signalfd_siginfo&)> on_signal) {
  const sigset_t handled = launcher_signals();
  UniqueFd signals(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.is_open()) return fail_errno("the launcher cannot receive signals");
  loop.watch(signals.get(), EPOLLIN, [fd = signals.get(), on_signal = std::move(on_signal)](std::uint32_t) {
    signalfd_siginfo info;
    while (::read(fd, &info, sizeof info) == sizeof info) on_signal(info);
  });
  return signals;
}

/// Signals whose sender wants the job to end.
inline bool is_deadly(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

}  // namespace rmq::launch
