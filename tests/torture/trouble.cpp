// SPDX-License-Identifier: BSD-3-Clause
#include "trouble.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

namespace torture {
namespace {

unsigned setting(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : static_cast<unsigned>(std::atoi(text));
}

[[noreturn]] void stop_and_go(pid_t parent, unsigned every_ms) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close_range(0, ~0u, 0);  // whoever reads what the rank prints does not wait for this process
  std::mt19937 random(static_cast<unsigned>(parent));
  while (::getppid() == parent) {
    ::usleep(random() % (2000 * every_ms));
    ::kill(parent, SIGSTOP);
    ::usleep(random() % 8000);
    ::kill(parent, SIGCONT);
  }
  ::_exit(0);
}

}  // namespace

Trouble::Trouble() {
  const unsigned every_ms = setting("TORTURE_STOPS");
  if (every_ms == 0) return;
  const pid_t parent = ::getpid();
  stopper_ = ::fork();
  if (stopper_ == 0) stop_and_go(parent, every_ms);
}

void Trouble::begin(unsigned long seed) {
  if (const unsigned every_us = setting("TORTURE_CUTS"); every_us > 0)
    cutter_ = std::make_unique<rmq::test::CuttingThread>(seed, every_us);
}

void Trouble::stop() {
  cutter_.reset();
  if (stopper_ <= 0) return;
  ::kill(stopper_, SIGKILL);
  ::waitpid(stopper_, nullptr, 0);
  stopper_ = 0;
}

}  // namespace torture
