// The dispatch loop: each turn asks the methods for what has arrived; they call the handler of each packet's kind (the
// table is filled in boot.cpp). Completion, waiting and the loss of a peer are here too.
#include <sched.h>

#include <algorithm>

#include "adi/device.hpp"
#include "adi/dispatch.hpp"
#include "base/os/clock.hpp"

namespace rmq::adi {
namespace {

// Non-blocking polls in a row that find nothing before a rank that tests in a loop is taken for one that waits, and
// looks whether credit holds back what it waits for.
constexpr std::uint32_t kIdleTests = 512;
// The same for polls of every sort, also those that find something: what a rank waits for may not be what it gets.
constexpr std::uint64_t kTurnsToGrant = 8192;
// The same before it gives its core to others where ranks outnumber CPUs.
constexpr std::uint32_t kIdleTestsCrowded = 16;
// The same before it looks whether the launcher asks what it is doing, which is a system call.
constexpr std::uint32_t kIdleTestsToLook = 16 * 1024;
constexpr std::uint64_t kSleeplessToLook = 64;
// Turns for which a secondary method stays in the fast rotation after it brought something.
constexpr std::uint64_t kBusyTurns = 256;
// Everything that ends a wait rings the doorbell. The length of a sleep bounds what is noticed by time only, such as
// the end of a rank that this one has never talked to. Each sleep may be as long as all the idleness before it: a
// thousand ranks of one machine that wait for the last to start would else use up its CPUs with looking, ten times a
// second each.
constexpr std::uint64_t kFirstSleepNs = 100'000'000, kLongestSleepNs = 1'000'000'000;
// With several threads another thread may complete what this one waits for, without ringing.
constexpr std::int64_t kLongestSleepThreadsNs = 1'000'000;

}  // namespace

int Device::progress() {
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
  if (!waiting_peers_.empty() || !waiting_gets_.empty()) [[unlikely]]
    n += drain_queues();
  if (wants_turns_) [[unlikely]]
    n += advance_extensions();
  return n;
}

void Device::MPID_Poll(bool blocking, Awaited what) {
  if (threads_) [[unlikely]] {
    // Only the lock's holder writes; the agent reads it as a sign that the program polls. Relaxed: nothing else hangs
    // on it.
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (armed_ && sleepers_ == 0) {  // for the agent, which sleeps
      disarm();
      wake_agent();
    }
  }
  int brought = progress();
  if (turn_ % kTurnsToGrant == 0) [[unlikely]]
    grant_envelopes();
  if (errand_) [[unlikely]] {
    errand_();  // perhaps what the caller waits for has happened there
    ++brought;
  }
  if (brought > 0) {
    waiter_.busy();
    idle_tests_ = 0;
    if (threads_ && contenders_.load(std::memory_order_relaxed) > 0) {
      awaited_ = what;
      give_way();
    }
    return;
  }
  awaited_ = what;
  if (!blocking) {
    ++idle_tests_;
    if (idle_tests_ % kIdleTests == 0) grant_envelopes();
    if (waiter_.crowded() && idle_tests_ % kIdleTestsCrowded == 0) give_way();
    if (idle_tests_ % kIdleTestsToLook == 0) look(Doing::testing);
    return;
  }
  if (!attending_) attend(true);
  const Waiter::Step step = waiter_.idle();
  trace_.saw_clock(waiter_.last_look_ns());
  switch (step) {
    case Waiter::Step::spin:
      os::relax();
      // Relaxed: a hint; the mutex itself orders what the threads do.
      if (threads_ && contenders_.load(std::memory_order_relaxed) > 0) give_way();
      break;
    case Waiter::Step::yield:
      give_way();
      turn_ |= kSecondaryStride - 1;  // others have had the core meanwhile: the next turn looks everywhere
      break;
    case Waiter::Step::sleep:
      sleep();
      break;
    case Waiter::Step::look:
      look(Doing::waiting);
      break;
  }
}

void Device::lock() {
  if (mutex_.try_lock()) return;
  contenders_.fetch_add(1, std::memory_order_relaxed);  // a hint for give_way()
  mutex_.lock();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
}

void Device::give_way() {
  if (!threads_) {
    ::sched_yield();
    return;
  }
  const Away away(*this, false);
  mutex_.unlock();
  ::sched_yield();
  lock();
}

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
  armed_ = true;
  bool may_sleep = waiting_gets_.empty();  // these wait for turns of the loop
  for (const auto& m : methods_) may_sleep = may_sleep && m->arm();
  for (Extension* e : extensions_) may_sleep = may_sleep && e->may_sleep();
  for (const Watch* w : watches_) {
    if (!may_sleep || !w->has_come()) continue;
    may_sleep = false;
    if (sleepers_ > 0) doorbell_->ring(rank_);  // it may be that of a thread that sleeps, whose ring this one has heard
  }
  if (!may_sleep) disarm();
  return may_sleep;
}

void Device::disarm() {
  armed_ = false;
  for (const auto& m : methods_) m->disarm();
}

void Device::sleep() {
  grant_envelopes();
  bool may_sleep = arm();
  // What the connection server answers comes to whoever reads its socket next, the agent or a method that arms: the
  // call that sleeps here may have asked for it, and looked before.
  if (const std::uint64_t answers = bootstrap_.answers(); answers != answers_) {
    answers_ = answers;
    if (may_sleep) disarm();
    may_sleep = false;
  }
  if (!may_sleep) {
    give_way();
    if (++sleepless_ % kSleeplessToLook == 0) look(Doing::waiting);
    return;
  }
  ++counters_.sleeps;
  const std::uint64_t from = trace_.on() ? os::now_ns() : 0;
  trace_.saw_clock(from);
  note_unanswered();
  trace_.event(Event::sleep, 0, kNoRank);
  {
    const Away away(*this, false);
    ++sleepers_;
    const auto most = static_cast<std::int64_t>(std::clamp(waiter_.idle_ns(), kFirstSleepNs, kLongestSleepNs));
    const std::int64_t limit = sleep_for_ever_ ? -1 : several_ ? kLongestSleepThreadsNs : most;
    if (threads_) mutex_.unlock();
    doorbell_->wait(limit);
    if (threads_) lock();
    --sleepers_;
  }
  if (threads_) wake_agent();  // the ring that has ended this sleep may have been for the agent
  if (bootstrap_.watch_fd() >= 0) look(Doing::waiting);  // the connection server may be what has woken us
  if (trace_.on()) {
    const std::uint64_t now = os::now_ns();
    trace_.saw_clock(now);
    trace_.event(Event::wake, 0, kNoRank, now - from);
  }
  disarm();
  turn_ |= kSecondaryStride - 1;  // whichever method has woken us: the next turn looks everywhere
}

void Device::MPID_Wait(Request* r) {
  while (!r->complete()) MPID_Poll(true, awaited(r));
}

bool Device::MPID_Test(Request* r) {
  if (r->complete()) return true;
  MPID_Poll(false);
  return r->complete();
}

void Device::MPID_Request_free(Request* r) {
  if (r->complete()) {
    pool_.put(r);
  } else {
    r->flags |= request_flag::detached;
  }
}

void Device::completed(Request* r) {
  trace_.event(Event::complete, 0, r->peer, r->self.wire(), r->status.bytes);
  if (r->flags & request_flag::staged) return staged_complete(r);
  const bool detached = r->flags & request_flag::detached;
  auto* notify = r->on_complete;
  r->incomplete.store(0, std::memory_order_release);  // pairs with Request::complete()
  if (notify) notify(r);
  if (detached) pool_.put(r);
}

void Device::complete(Request* r, Errc error) {
  if (error != Errc::ok) note_failed(r, error, r->peer);
  completed(r);
}

void Device::note_failed(Request* r, Errc error, Rank other) {
  r->status.error = error;
  if (error != Errc::peer_lost || !minds_ || (r->flags & request_flag::staged) != 0) return;
  if ((r->kind != RequestKind::send && r->kind != RequestKind::recv) || !minds_(*r)) return;
  failures_.push_back(other);
  // A method ends what it has in hand before it reports the loss, and why: on_peer_lost() tells of those.
  if (other != kNoRank && peers_[index(other)].lost) tell_failures(other);
}

// `lost`: whom those miss that wait for anybody. A peer that has left in order is not lost: its messages' calls tell.
void Device::tell_failures(Rank lost) {
  for (const Rank one : std::exchange(failures_, {})) {
    const Rank peer = one == kNoRank ? lost : one;
    if (peers_[index(peer)].lost) {
      on_lost_(*this, peer);
    } else {
      failures_.push_back(peer);
    }
  }
}

void Device::on_sent(void* device, Request* owner, Errc error) {
  auto& d = *static_cast<Device*>(device);
  if (owner->kind == RequestKind::other) return d.sent(owner, error);  // one of perhaps several packets of its own
  if (error != Errc::ok) return d.complete(owner, error);
  if (owner->packet.kind == Kind::RNDV_DATA && owner->moved < owner->expected) {
    return d.push_data(owner, d.peers_[d.index(owner->peer)]);
  }
  d.finish(owner);
}

void Device::on_peer_lost(void* device, Rank rank, const Error& error) {
  auto& d = *static_cast<Device*>(device);
  Peer& peer = d.peers_[d.index(rank)];
  if (peer.lost) return;
  peer.lost = d.any_lost_ = true;
  peer.error = error.what;
  d.note_unanswered();
  d.trace_.event(Event::link_down, static_cast<std::uint8_t>(peer.id), rank);
  while (!peer.control.empty()) d.pool_.put(peer.control.pop_front());
  while (!peer.pending.empty()) peer.pending.pop_front()->flags &= static_cast<std::uint8_t>(~request_flag::queued);
  while (!peer.bulk.empty()) peer.bulk.pop_front();
  peer.flow_due = false;
  d.envelopes_left_ += peer.envelopes_out;
  peer.envelopes_out = peer.envelopes_due = 0;
  d.drop_ordered(peer);
  d.fail_requests_of(rank);
  for (Extension* e : d.extensions_) e->on_peer_lost(rank);
  d.tell_failures(rank);
}

void Device::fail_requests_of(Rank rank) {
  std::erase_if(waiting_gets_, [&](Request* r) { return r->peer == rank; });
  // Parts of receives first: each ends its own share of the receive, which may still be waited for by others.
  for (const std::uint8_t staged : {request_flag::staged, std::uint8_t{0}}) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      Request* r = pool_.at(i);
      if (!(r->self.generation & 1) || r->peer != rank || r->complete()) continue;
      if ((r->flags & request_flag::staged) != staged) continue;
      if (r->kind == RequestKind::recv && !(r->flags & request_flag::matched)) withdraw(r);
      if (r->kind == RequestKind::recv || r->kind == RequestKind::send) complete(r, Errc::peer_lost);
    }
  }
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* r = pool_.at(i);
    if (!(r->self.generation & 1) || !(r->flags & request_flag::grouped) || (r->flags & request_flag::matched))
      continue;
    if (!r->complete() && std::ranges::find(*r->group, rank) != r->group->end()) fail_grouped(r);
  }
}

// What has met its message already ends by itself.
void Device::fail_grouped(Request* recv) {
  withdraw(recv);
  recv->flags |= request_flag::matched;
  for (std::uint32_t missing = recv->parts; missing > 0; --missing) fail_part(recv, Errc::peer_lost, kNoRank);
}

}  // namespace rmq::adi
