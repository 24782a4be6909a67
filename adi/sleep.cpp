// How a call sleeps: it announces that to all who may end its wait, looks once more, and waits for a ring.
#include <algorithm>

#include "adi/device.hpp"
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

// A post is too frequent an event for the flight recorder. What is posted still when the rank has nothing to do, or
// loses a peer, is what it waits for.
void Device::note_unanswered() {
  constexpr int kMost = 8;
  if (!trace_.flew_since_sleep()) return;
  int left = kMost;
  match_.for_each_posted([&](const Request* r) {
    if (left-- > 0)
      trace_.event(Event::unanswered, 0, r->peer, r->match.context, static_cast<std::uint32_t>(r->match.tag));
  });
}

// Announces that somebody of this rank is about to sleep, and looks once more: false, and nothing is announced, when
// there is something to do after all. What waits in the queues of the peers is nothing to do: whoever ends its wait,
// for credit, for room in a link or for a connection, rings.
bool Device::arm() {
  gate_.armed = true;
  bool may_sleep = waiting_gets_.empty();  // these wait for turns of the loop
  for (const auto& m : methods_) may_sleep = may_sleep && m->arm();
  for (Extension* e : extensions_) may_sleep = may_sleep && e->may_sleep();
  for (const Watch* w : watches_) {
    if (!may_sleep || !w->has_come()) continue;
    may_sleep = false;
    gate_.stir();  // it may be that of a thread that sleeps, whose ring this one has heard
    gate_.tell_sleepers();
  }
  if (!may_sleep) withdraw();
  return may_sleep;
}

// A thread that sleeps already has relied on the announcement.
void Device::withdraw() {
  disarm();
  gate_.call_listener();
}

void Device::disarm() {
  gate_.armed = false;
  for (const auto& m : methods_) m->disarm();
}

// Until another thread of the program has seen that this one's wait is over, or leaves it the listening.
void Device::sleep_beside() {
  ++counters_.sleeps;
  Gate::Away away(gate_, Gate::Away::Why::sleeps);
  gate_.unlock();
  away.sleep(sleep_for_ever_ ? -1 : kSleepBesideNs);
  gate_.lock();
}

void Device::sleep() {
  channels_.grant_envelopes();
  if (gate_.may_sleep_beside()) return sleep_beside();
  bool may_sleep = arm();
  // What the connection server answers comes to whoever reads its socket next, the agent or a method that arms: the
  // call that sleeps here may have asked for it, and looked before.
  if (const std::uint64_t answers = bootstrap_.answers(); answers != answers_) {
    answers_ = answers;
    if (may_sleep) withdraw();
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
  turn_ |= kSecondaryStride - 1;  // whichever method has woken us: the next turn looks everywhere
}

}  // namespace rmq::adi
