// SPDX-License-Identifier: BSD-3-Clause
// While it lives, this thread takes no signals, and neither does any thread that it starts, ever: signals to the
// process are for the program's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rmq::os {

class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace rmq::os
