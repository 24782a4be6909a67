// SPDX-License-Identifier: BSD-3-Clause
#include "start/exit.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace rmq::boot {

int status_of(int code) {
  return code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff;
}

void exit_with(int code) {
  ::_exit(status_of(code));
}

namespace {

std::atomic<int> status_at_alarm{0};

}  // namespace

void flush_and_exit(int code, const std::function<void()>& last) {
  constexpr unsigned kPatience = 1;  // seconds
  status_at_alarm.store(status_of(code), std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = [](int) { ::_exit(status_at_alarm.load(std::memory_order_relaxed)); };
  std::fflush(stdout);  // however long its reader takes
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  ::alarm(kPatience);
  std::fflush(nullptr);
  ::alarm(0);
  if (last) last();
  exit_with(code);
}

}  // namespace rmq::boot
