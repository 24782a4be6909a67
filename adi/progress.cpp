// SPDX-License-Identifier: BSD-3-Clause
#include "adi/progress.hpp"

#include <algorithm>

#include "adi/dispatch.hpp"
#include "base/os/clock.hpp"

namespace rmq::adi {

using methods::Outcome;

namespace {

// Non-blocking polls in a row that find nothing before a rank that tests in a loop is taken for one that waits, and
// looks whether credit holds back what it waits for.
constexpr std::uint32_t kIdleTests = 512;
// The same for polls of every sort, also those that find something: what a rank waits for may not be what it gets.
constexpr std::uint64_t kTurnsToGrant = 8192;
// The same before it gives its core to others where ranks outnumber CPUs.
constexpr std::uint32_t kIdleTestsCrowded = 16;
// Turns for which a secondary method stays in the fast rotation after it brought something.
constexpr std::uint64_t kBusyTurns = 256;

}  // namespace

Progress::Progress(DeviceOptions& options, Bootstrap& bootstrap) : Sleep(options, bootstrap) {
  sink_.on_room = &on_room;
}

int Progress::progress() {
  ++turn_;
  int n = 0;
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    // A poll of a secondary method may be a system call: taken each time only while it brings something.
    if (i > 0 && turn_ > busy_until_ && turn_ % kSecondaryStride != 0) break;
    methods::Method& m = *methods_[i];
    const int brought = with_method(m, m.id(), [](auto& method) { return method.poll(); });
    if (i > 0 && brought) busy_until_ = turn_ + kBusyTurns;
    n += brought;
  }
  if (!channels_.due().empty() || has_waiting_moves()) [[unlikely]]
    n += drain_queues();
  return n + advance_extensions();
}

// What waits for credit, for room in a link, or for the method that moves data.
int Progress::drain_queues() {
  int n = 0;
  std::vector<Channel*>& due = channels_.due();
  // Handlers that run below may schedule more channels: they are appended and seen by this same loop.
  for (std::size_t i = 0; i < due.size();) {
    Channel& c = *due[i];
    c.refused = false;
    n += drain(c);
    if (!c.waits() || (c.refused && c.method->tells_of_room())) {
      due[i] = due.back();
      due.pop_back();
      channels_.drained(c);
    } else {
      ++i;
    }
  }
  if (has_waiting_moves()) n += retry_moves();
  return n;
}

void Progress::on_room(void* device, Rank rank) {
  Channels& channels = part<Progress>(device).channels_;
  channels.unstick(channels[rank]);
}

// Packets first, then messages in order, then data in turns.
int Progress::drain(Channel& c) {
  int n = channels_.drain_packets(c);
  if (c.flow_due || !c.packets.empty()) return n;  // the link is full
  while (!c.messages.empty()) {
    // Out of the list first: sending may complete the request, and completion may free it.
    Request* r = c.messages.pop_front();
    r->go(Step::idle);
    if (const Outcome o = send_message(r, c); o == Outcome::retry) {
      r->go(Step::queued);
      c.messages.push_front(r);
      break;
    }
    ++n;
  }
  if (c.envelopes != 0 && c.messages.empty()) channels_.give_back_envelopes(c);
  return n + push_some(c);
}

void Progress::MPID_Poll(bool blocking, Awaited what) {
  if (gate_.threads()) [[unlikely]] {
    // Only the lock's holder writes; the agent reads it as a sign that the program polls. Relaxed: nothing else hangs
    // on it.
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (gate_.armed && !gate_.is_listened()) {  // for the agent, which sleeps
      disarm();
      wake_agent();
    }
  }
  int brought = progress();
  if (turn_ % kTurnsToGrant == 0) [[unlikely]] {
    channels_.grant_envelopes();
    if (is_fault_tolerant()) look(blocking ? Doing::waiting : Doing::testing);  // however busy others keep it
  }
  if (errand_) [[unlikely]] {
    errand_();  // perhaps what the caller waits for has happened there
    ++brought;
  }
  if (brought > 0) {
    if (gate_.sleepers > 0) [[unlikely]] {
      gate_.stir();
      gate_.tell_sleepers();
    }
    waiter_.busy();
    idle_tests_.reset();
    if (gate_.threads() && gate_.is_wanted()) {
      gate_.awaited = what;
      gate_.give_way();
    }
    return;
  }
  if (!blocking) {
    if (idle_tests_.again()) [[unlikely]] {
      gate_.awaited = what;
      look(Doing::testing);
    }
    gate_.awaited = {};  // what is tested for may be gone when others tell of this rank
    if (idle_tests_.count() % kIdleTests == 0) channels_.grant_envelopes();
    if (waiter_.crowded() && idle_tests_.count() % kIdleTestsCrowded == 0) gate_.give_way();
    return;
  }
  gate_.awaited = what;
  if (!gate_.attending()) gate_.attend(true);
  const Waiter::Step step = waiter_.idle();
  trace_.saw_clock(waiter_.last_look_ns());
  switch (step) {
    case Waiter::Step::spin:
      os::relax();
      // Relaxed: a hint; the mutex itself orders what the threads do.
      if (gate_.threads() && gate_.is_wanted()) gate_.give_way();
      break;
    case Waiter::Step::yield:
      gate_.give_way();
      look_everywhere();  // others have had the core meanwhile
      break;
    case Waiter::Step::sleep:
      sleep();
      break;
    case Waiter::Step::look:
      look(Doing::waiting);
      break;
  }
}

void Progress::MPID_Wait(Request* r) {
  while (!r->complete()) MPID_Poll(true, awaited(r));
}

bool Progress::MPID_Test(Request* r) {
  if (r->complete()) return true;
  MPID_Poll(false);
  return r->complete();
}

bool Progress::all_sent() const {
  if (channels_.any_waits() || has_waiting_moves()) return false;
  return std::all_of(methods_.begin(), methods_.end(), [](const auto& m) { return m->drained(); });
}

}  // namespace rmq::adi
