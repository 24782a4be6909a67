// SPDX-License-Identifier: BSD-3-Clause
// Who of the ranks of a simulation runs next, and until when: fibers in the order of their clocks, on as many CPUs as
// their hosts have.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "methods/simulated_state.hpp"

namespace rmq::methods {

using sim::kEndMark, sim::kStack, sim::ns;

void SimWorld::take_turn_at(Endpoint& e, std::uint64_t at) {
  if (e.turn != 0 && e.turn_at <= at) return;
  e.turn = ++numbered_;
  e.turn_at = at;
  turns_.push({at, e.turn, e.rank});
}

void SimWorld::sleep(Rank rank) {
  Endpoint& me = *endpoints_[static_cast<std::size_t>(rank)];
  if (running_ != rank) return;
  if (!std::exchange(me.woken, false)) {
    if (!me.in.empty()) take_turn_at(me, std::max(me.in.front()->due, me.clock));
    me.asleep = true;
    leave_cpu(me);
    pause(me);
    me.asleep = false;
    // It reads the line that another has written, as a receiver that of a packet.
    if (std::exchange(me.woken, false)) spend(rank, cost_.within.receive);
  }
}

// What has changed in memory is seen where the sleeper's poll returns: a latency later.
void SimWorld::wake(Rank by, Rank rank) {
  Endpoint& e = *endpoints_[static_cast<std::size_t>(rank)];
  e.woken = true;
  if (e.asleep) take_turn_at(e, std::max(e.clock, clock(by) + ns(cost_.within.latency)));
}

// Of the ranks that wait in a CPU's queue, those that have their turn before one that has something to do.
constexpr double kLooked = 0.35;

// Until a rank with something to do has a CPU. Ranks that wait take their turns, too, to look whether it has come; they
// are between it and whoever had the CPU before, fewer the more others there are with something to do.
double SimWorld::turn(const Cpus& c) const {
  const double busy = static_cast<double>(cost_.cpus - c.idle) + static_cast<double>(c.ready.size());
  const double waiting = std::max(0.0, c.ranks - busy - 1);
  const double between = waiting / (cost_.cpus + static_cast<double>(c.ready.size())) * kLooked;
  return cost_.turn * (1 + between) + (host_.size() > 1 ? cost_.between.look * between : 0);
}

SimWorld::Cpus& SimWorld::cpus_of(const Endpoint& e) {
  return cpus_[cost_.pretended != 0 ? 0 : static_cast<std::size_t>(e.host)];
}

// Whether it has one; else its host's next idle CPU is its.
bool SimWorld::take_cpu(Endpoint& e) {
  if (cost_.cpus == 0 || e.has_cpu) return true;
  Cpus& c = cpus_of(e);
  if (c.idle == 0) {
    if (!std::exchange(e.wants_cpu, true)) c.ready.push_back(e.rank);
    return false;
  }
  const auto own = std::find(c.last.begin(), c.last.end(), e.rank);
  const auto cpu = own != c.last.end() ? own : c.last.begin();
  if (c.ranks > cost_.cpus && *cpu != kNoRank) spend(e.rank, *cpu == e.rank ? turn(c) - cost_.turn : turn(c));
  c.last.erase(cpu);
  --c.idle;
  return e.has_cpu = true;
}

void SimWorld::leave_cpu(Endpoint& e) {
  if (!std::exchange(e.has_cpu, false)) return;
  Cpus& c = cpus_of(e);
  if (c.ready.empty()) {
    ++c.idle;
    c.last.push_back(e.rank);
    return;
  }
  Endpoint& next = *endpoints_[static_cast<std::size_t>(c.ready.front())];
  c.ready.pop_front();
  next.has_cpu = true;
  next.wants_cpu = false;
  next.clock = std::max(next.clock, e.clock);
  spend(next.rank, turn(c));
  take_turn_at(next, next.clock);
}

void SimWorld::pause(Endpoint& e) {
  running_ = kNoRank;
  e.fiber->pause();
}

// On the rank's fiber.
void SimWorld::live(Endpoint& e) {
  (*program_)(e.rank);
  e.ended = true;
  if (--left_ == 0) {
    for (const auto& other : endpoints_) wake(e.rank, other->rank);
  }
  while (left_ > 0) (*serve_)(e.rank);
}

bool SimWorld::run(const std::function<void(Rank)>& program, const std::function<void(Rank)>& serve) {
  program_ = &program;
  serve_ = &serve;
  if (!stacks_) {
    void* const memory = ::mmap(nullptr, endpoints_.size() * kStack, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<std::byte*>(memory);
  }
  std::uint64_t start = 0;
  for (const auto& e : endpoints_) start = std::max(start, e->clock);
  left_ = hosts_.size();
  stuck_.clear();
  for (const auto& e : endpoints_) {
    std::byte* const stack = stacks_ + static_cast<std::size_t>(e->rank) * kStack;
    std::memcpy(stack, &kEndMark, sizeof kEndMark);
    if (!e->fiber) e->fiber = std::make_unique<os::Fiber>(stack, kStack);
    e->fiber->prepare(
        [](void* self) {
          auto& w = *static_cast<SimWorld*>(self);
          Endpoint& me = *w.endpoints_[static_cast<std::size_t>(w.running_)];
          w.live(me);
          me.gone = true;
        },
        this);
    e->ended = e->gone = false;
    e->clock = start;
    take_turn_at(*e, start);
  }
  while (!turns_.empty()) {
    const Turn turn = turns_.top();
    turns_.pop();
    Endpoint& e = *endpoints_[static_cast<std::size_t>(turn.rank)];
    if (e.turn != turn.number || e.gone) continue;
    e.turn = 0;
    e.clock = std::max(e.clock, turn.at);
    if (!take_cpu(e)) continue;
    if (e.clock > turn.at) {  // its CPU had another to leave
      take_turn_at(e, e.clock);
      continue;
    }
    running_ = e.rank;
    e.fiber->resume();
    running_ = kNoRank;
    std::uint64_t mark;
    std::memcpy(&mark, stacks_ + static_cast<std::size_t>(e.rank) * kStack, sizeof mark);
    RMQ_CHECK(mark == kEndMark);  // the rank's stack is too small
    if (e.gone) leave_cpu(e);
  }
  for (const auto& e : endpoints_) {
    if (!e->ended) stuck_.push_back(e->rank);
  }
  return stuck_.empty();
}

}  // namespace rmq::methods
