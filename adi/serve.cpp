// SPDX-License-Identifier: BSD-3-Clause
// The agent's side of the device: what arrives is handled while the program computes.
//
// The agent sleeps on the doorbell, like a program that waits, with the methods armed. When the program itself polls,
// the agent stands aside: two threads that both take every packet's interrupt would only be in each other's way. So
//
//   - the program counts its polls (visits_); while the count moves, or a call of the program waits, the agent naps
//     and looks again after a while;
//   - when the agent wakes on the doorbell and finds the program there, it rings again, for the ring may have been the
//     program's, and naps;
//   - while the program sleeps in a call, it is not about to compute: soon the agent's naps are long, and the program
//     ends them when it wakes (a thousand agents on two CPUs that look each millisecond leave no time for the ranks);
//   - the program's first poll disarms what the agent has armed, and wakes it, so that it naps, and listens again soon
//     after the program has stopped polling. A program that sleeps on the doorbell meanwhile may take that ring: it
//     rings again when it wakes, as long as the agent sleeps.
//
// What it costs a program that computes and is left alone: nothing, the agent sleeps. A program that polls: a look of
// the agent a millisecond. The first access after the program has begun to compute waits up to two naps.
#include <sched.h>

#include <algorithm>

#include "adi/progress.hpp"
#include "base/os/clock.hpp"

namespace rmq::adi {
namespace {

constexpr long kNapNs = 1'000'000;
constexpr std::int64_t kAgentSleepNs = 100'000'000;
constexpr long kLongNapNs = 100'000'000;
constexpr int kNapsToLongOnes = 8;  // that the program has slept through: to end a long nap costs it a system call
// Whoever has accessed once does it again soon, so the agent polls on for a while. Not where it could take the core of
// another rank: with neither cores to spare nor a core of its rank's own.
constexpr std::uint64_t kLingerNs = 30'000;

// A nap ends with a barrier on all CPUs (Gate::agent_try_lock): all agents of the machine together shall not take more
// than one in some hundred microseconds, however many ranks share a CPU.
long nap_ns(int cpus, int ranks) {
  constexpr int kRanksPerCpu = 4;
  return std::clamp<long>(kNapNs * ranks / (kRanksPerCpu * cpus), kNapNs, kLongNapNs);
}

bool may_linger(int cpus, int ranks) {
  cpu_set_t mine;
  const bool bound = ::sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1;
  return bound || cpus >= 2 * ranks + 1;
}

}  // namespace

void Progress::serve(const Atomic<bool>& stop) {
  const int ranks = bootstrap_.job().machine_size;
  const std::uint64_t linger_ns = may_linger(waiter_.cpus(), ranks) ? kLingerNs : 0;
  const long nap = nap_ns(waiter_.cpus(), ranks);
  std::uint32_t seen = visits_.load(std::memory_order_relaxed) - 1;
  int naps = 0;  // in a row, for a program that sleeps
  // Relaxed: hints, both.
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint32_t visits = visits_.load(std::memory_order_relaxed);
    if (visits != seen) {
      seen = visits;
      naps = 0;
      os::nap(nap);
      continue;
    }
    if (!gate_.agent_try_lock()) {  // the program is in a call: it polls, or soon will, and would only be disturbed
      os::nap(nap);
      continue;
    }
    bool busy = false, sleep = false, long_nap = false;
    if (gate_.is_listener_called()) {
      doorbell_->ring(rank_);  // the agent may have heard its ring
    } else if (!gate_.attending() && !gate_.is_listened()) {
      busy = serve_while_busy(linger_ns);
      // What has woken us may be the launcher, which asks what the rank is doing.
      if (!busy && bootstrap_.watch_fd() >= 0) look(doing());
      // Whoever stops the agent does so with the device held: it is seen here, or finds the agent asleep. Its ring
      // alone would not do, for a thread that sleeps may take it.
      sleep = !stop.load(std::memory_order_relaxed) && arm();
      // Relaxed: only the agent clears it; a program that sees it too long rings once too often.
      agent_sleeps_.store(sleep, std::memory_order_relaxed);
    } else if (gate_.sleepers > 0 && !stop.load(std::memory_order_relaxed)) {
      // With the device held, as the program's look when it wakes: that ends the nap, or comes before it.
      long_nap = ++naps > kNapsToLongOnes;
      agent_naps_.store(long_nap ? 1 : 0, std::memory_order_relaxed);
    }
    gate_.agent_unlock();
    if (sleep) {
      sleep_as_agent(kAgentSleepNs);
      if (visits_.load(std::memory_order_relaxed) != seen) doorbell_->ring(rank_);
    } else if (long_nap) {
      os::nap_while_set(agent_naps_, kLongNapNs);
      agent_naps_.store(0, std::memory_order_relaxed);
    } else if (!busy) {  // the program waits, or what is under way takes time
      os::nap(nap);
    }
  }
  while (!gate_.agent_try_lock()) os::nap(nap);
  if (gate_.armed && !gate_.is_listened()) disarm();
  gate_.agent_unlock();
}

// Whether there was anything.
bool Progress::serve_while_busy(std::uint64_t linger_ns) {
  if (gate_.armed && !gate_.is_listened()) disarm();
  look_everywhere();  // whatever has woken us
  std::uint64_t last = 0;
  bool any = false;
  do {
    // Without lingering one look is enough: what is left, or comes now, is seen when the methods are armed.
    if (progress() > 0) {
      any = true;
      gate_.stir();
      gate_.tell_sleepers();
      if (linger_ns != 0) last = os::now_ns();
    }
    // Relaxed: a hint; the mutex itself orders what the threads do.
  } while (last != 0 && !gate_.is_wanted() && os::now_ns() - last < linger_ns);
  return any;
}

}  // namespace rmq::adi
