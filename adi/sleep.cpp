// SPDX-License-Identifier: BSD-3-Clause
#include "adi/sleep.hpp"

#include <algorithm>

#include "base/os/clock.hpp"

namespace rmq::adi {
namespace {

constexpr std::uint64_t kSleeplessToLook = 64;
// Everything that ends a wait rings the doorbell. The length of a sleep bounds what is noticed by time only, such as
// the end of a rank that this one has never talked to. Each sleep may be as long as all the idleness before it: a
// thousand ranks of one machine that wait for the last to start would else use up its CPUs with looking, ten times a
// second each.
constexpr std::uint64_t kFirstSleepNs = 100'000'000, kLongestSleepNs = 1'000'000'000;
// Beside a thread that listens nothing is left to be noticed by time.
constexpr std::int64_t kSleepBesideNs = 10'000'000'000;

}  // namespace

// Announces that somebody of this rank is about to sleep, and looks once more: false, and nothing is announced, when
// there is something to do after all. What waits in the queues of the peers is nothing to do: whoever ends its wait,
// for credit, for room in a link or for a connection, rings.
bool Sleep::arm() {
  gate_.armed = true;
  bool may_sleep = !has_waiting_moves();  // these wait for turns of the loop
  for (const auto& m : methods_) may_sleep = may_sleep && m->arm();
  for (Extension* e : extensions()) may_sleep = may_sleep && e->may_sleep();
  for (const Watch* w : watches_) {
    if (!may_sleep || !w->has_come()) continue;
    may_sleep = false;
    gate_.stir();  // it may be that of a thread that sleeps, whose ring this one has heard
    gate_.tell_sleepers();
  }
  if (!may_sleep) call_off();
  return may_sleep;
}

// A thread that sleeps already has relied on the announcement.
void Sleep::call_off() {
  disarm();
  gate_.call_listener();
}

void Sleep::disarm() {
  gate_.armed = false;
  for (const auto& m : methods_) m->disarm();
}

// Until another thread of the program has seen that this one's wait is over, or leaves it the listening.
void Sleep::sleep_beside() {
  ++counters_.sleeps;
  Gate::Away away(gate_, Gate::Away::Why::sleeps);
  gate_.unlock();
  away.sleep(sleep_for_ever_ ? -1 : kSleepBesideNs);
  gate_.lock();
}

void Sleep::sleep() {
  channels_.grant_envelopes();
  if (gate_.may_sleep_beside()) return sleep_beside();
  bool may_sleep = arm();
  // What the connection server answers comes to whoever reads its socket next, the agent or a method that arms: the
  // call that sleeps here may have asked for it, and looked before.
  if (const std::uint64_t answers = bootstrap_.answers(); answers != answers_) {
    answers_ = answers;
    if (may_sleep) call_off();
    may_sleep = false;
  }
  if (!may_sleep) {
    gate_.give_way();
    if (++sleepless_ % kSleeplessToLook == 0) look(Doing::waiting);
    return;
  }
  if (gate_.is_listened()) return sleep_beside();
  ++counters_.sleeps;
  const std::uint64_t from = trace_.on() ? os::now_ns() : 0;
  trace_.saw_clock(from);
  note_unanswered();
  trace_.event(Event::sleep, 0, kNoRank);
  {
    const Gate::Away away(gate_, Gate::Away::Why::listens);
    const auto most = static_cast<std::int64_t>(std::clamp(waiter_.idle_ns(), kFirstSleepNs, kLongestSleepNs));
    if (gate_.threads()) gate_.unlock();
    doorbell_->wait(sleep_for_ever_ ? -1 : most);
    if (gate_.threads()) gate_.lock();
  }
  gate_.stir();  // what has rung may be what another thread's wait looks for
  gate_.tell_sleepers();
  if (gate_.threads()) wake_agent();  // the ring that has ended this sleep may have been for the agent
  if (bootstrap_.watch_fd() >= 0) look(Doing::waiting);  // the connection server may be what has woken us
  if (trace_.on()) {
    const std::uint64_t now = os::now_ns();
    trace_.saw_clock(now);
    trace_.event(Event::wake, 0, kNoRank, now - from);
  }
  disarm();
  look_everywhere();  // whichever method has woken us
}

void Sleep::end_agents_nap() {
  if (agent_naps_.load(std::memory_order_relaxed) != 0) os::end_naps(agent_naps_);
}

void Sleep::wake_agent() {
  if (agent_sleeps_.load(std::memory_order_relaxed)) doorbell_->ring(rank_);
  end_agents_nap();
}

void Sleep::rouse_agent() {
  doorbell_->ring(rank_);
  end_agents_nap();
}

void Sleep::sleep_as_agent(std::int64_t sleep_ns) {
  doorbell_->wait(sleep_for_ever_ ? -1 : sleep_ns);
  agent_sleeps_.store(false, std::memory_order_relaxed);
}

}  // namespace rmq::adi
