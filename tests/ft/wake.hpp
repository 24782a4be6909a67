// SPDX-License-Identifier: BSD-3-Clause
// One rank of a host lets another one go on without a message: by SIGUSR1.
#pragma once

#include <signal.h>

namespace wake {

inline sigset_t sign() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  return one;
}

/// Before MPI_Init: the signal waits for await().
inline void hold() {
  const sigset_t one = sign();
  sigprocmask(SIG_BLOCK, &one, nullptr);
}

/// Until some process has sent it; outside of MPI.
inline void await() {
  const sigset_t one = sign();
  int signal;
  sigwait(&one, &signal);
}

}  // namespace wake
