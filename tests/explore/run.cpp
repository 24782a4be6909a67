// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace rmq::explore {
namespace {

constexpr int kMostSteps = 4000;    // of one schedule; one that spins for so long is given up
constexpr int kNaps = 6;            // without a store of others: enough for whoever naps to take in what there is
constexpr unsigned kStopOneIn = 6;  // random schedules: how often a thread is stopped

}  // namespace

Run* running = nullptr;

bool Site::look(const Where& where) const {
  if (!std::string_view(where.file_name()).ends_with(mutant_->file)) return false;
  // Ninja compiles by paths that are relative to the build folder, wherever that is: the end is the one from the root.
  std::string_view path = where.file_name();
  std::ifstream source{std::string(path)};
  for (std::size_t slash; !source.is_open() && (slash = path.find('/')) != path.npos;) {
    path.remove_prefix(slash + 1);
    source.open(fmt::format("{}/{}", RMQ_SOURCE_DIR, path));
  }
  std::string line;
  for (unsigned n = 0; n < where.line() && std::getline(source, line); ++n) {
  }
  return line.find(mutant_->line) != std::string::npos;
}

bool Run::may_run(const Thread& t) const {
  switch (t.state) {
    case State::ready:
      return true;
    case State::paused:
      return stores_ - t.stores != t.paused_at;
    case State::napping:
      return t.naps < kNaps || stores_ - t.stores != t.paused_at;
    case State::waiting:
      return t.ready();
    case State::done:
      break;
  }
  return false;
}

bool Run::run(const Model& model, bool telling) {
  memory.reset();
  stores_ = 0;
  preemptions_ = stale_ = steps_ = 0;
  failed_ = over_ = false;
  telling_ = telling;
  running = this;
  current = -1;
  program_ = model();
  count_ = program_.threads.size();
  if (count_ > kThreads) throw std::length_error("the model has too many threads");
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (!t.fiber || t.broken) t.fiber = std::make_unique<os::Fiber>();
    t.state = State::ready;
    t.broken = t.fresh = t.idle = false;
    t.chosen = true;
    t.stores = 0;
    t.naps = 0;
    t.fiber->prepare(&Run::main, this);
  }
  current = -1;
  leave_for_any();
  while (!over_ && next_ != kNobody) {
    Thread& t = threads_[next_];
    current = static_cast<int>(next_);
    next_ = kNobody;
    t.state = State::ready;
    t.fiber->resume();
  }
  for (std::size_t i = 0; i < count_; ++i) threads_[i].broken = threads_[i].state != State::done;
  current = -1;
  if (!over_ && program_.after) program_.after();
  running = nullptr;
  program_ = {};
  report.mutated = site_.reached();
  return !failed_;
}

void Run::main(void* run) {
  auto& self = *static_cast<Run*>(run);
  const std::size_t me = self.now();
  self.program_.threads[me]();
  self.threads_[me].state = State::done;
  self.tell(nullptr, "has returned");
  self.leave_for_any();
}

void Run::give_up(std::string_view why) {
  report.why = why;
  tell(nullptr, "FAILS: {}", why);
  failed_ = over_ = true;
}

void Run::fail(std::string_view why) {
  give_up(why);
  // Never to come back: the schedule ends here.
  if (current >= 0) threads_[now()].fiber->pause();
}

// On a fiber: lets `next` go on, and comes back when somebody lets this one.
void Run::leave(std::size_t next) {
  next_ = next;
  threads_[now()].fiber->pause();
}

// The threads that can go on, those behind the current one first; perhaps without those that nap.
std::size_t Run::runnable(std::array<std::size_t, kThreads>& who, bool naps) const {
  std::size_t n = 0;
  for (std::size_t i = 1; i <= count_; ++i) {
    const std::size_t other = (static_cast<std::size_t>(current + static_cast<int>(count_)) + i) % count_;
    if (may_run(threads_[other]) && (naps || threads_[other].state != State::napping)) who[n++] = other;
  }
  return n;
}

// Lets somebody go on, whoever can, perhaps the caller. When the caller's thread has returned, so does this.
void Run::leave_for_any() {
  std::array<std::size_t, kThreads> can;
  std::size_t n = runnable(can, false);
  if (n == 0) n = runnable(can, true);
  if (n == 0) {
    // Stores become visible in time: who spins reads the newest ones now.
    for (std::size_t i = 0; i < count_; ++i) {
      Thread& t = threads_[i];
      if (t.state != State::paused || t.idle) continue;
      t.fresh = true;
      t.fresh_at = stores_ - t.stores;
      t.state = State::ready;
    }
    n = runnable(can, true);
  }
  Thread* const self = current < 0 ? nullptr : &threads_[now()];
  if (n == 0) {
    std::string who;
    for (std::size_t i = 0; i < count_; ++i) {
      if (threads_[i].state == State::waiting) who += fmt::format(" {} (asleep)", i);
      if (threads_[i].state == State::napping) who += fmt::format(" {} (naps)", i);
      if (threads_[i].state == State::paused) who += fmt::format(" {} (looks in vain)", i);
    }
    if (!who.empty()) give_up("nobody can go on:" + who);
    if (self && self->state != State::done) self->fiber->pause();
    return;
  }
  next_ = can[n == 1 ? 0 : choices.next(n, 2)];
  if (!self || self->state == State::done) return;
  if (next_ == now())
    next_ = kNobody;
  else
    self->fiber->pause();
  self->state = State::ready;
  self->chosen = true;
}

void Run::count_step() {
  if (++steps_ <= kMostSteps) return;
  ++report.cut;
  over_ = true;
  threads_[now()].fiber->pause();
}

// Before each access: somebody else may come first.
void Run::point() {
  count_step();
  if (std::exchange(threads_[now()].chosen, false)) return;
  if (!choices.random() && preemptions_ >= bounds_.preemptions) return;
  std::array<std::size_t, kThreads> can;
  std::size_t n = runnable(can, true) - 1;  // the last one is the current thread
  if (n == 0) return;
  const std::size_t chosen = choices.next(n + 1, kStopOneIn);
  if (chosen == 0) return;
  ++preemptions_;
  leave(can[chosen - 1]);
}

void Run::pause() {
  count_step();
  Thread& t = threads_[now()];
  t.state = State::paused;
  t.paused_at = stores_ - t.stores;
  t.idle = t.fresh && t.fresh_at == t.paused_at;
  t.fresh = false;
  leave_for_any();
}

void Run::nap() {
  count_step();
  Thread& t = threads_[now()];
  const std::uint64_t others = stores_ - t.stores;
  t.naps = others == t.paused_at ? t.naps + 1 : 1;
  t.paused_at = others;
  t.fresh = t.naps > 1;
  tell(nullptr, "naps");
  // To end before the others have come to rest takes one of the preemptions, now as later.
  if (t.naps < kNaps && (choices.random() || preemptions_ < bounds_.preemptions) && choices.next(2, kStopOneIn) == 1) {
    ++preemptions_;
    return;
  }
  t.state = State::napping;
  leave_for_any();
}

void Run::wait_until(std::function<bool()> ready) {
  point();
  if (ready()) return;
  Thread& t = threads_[now()];
  tell(nullptr, "sleeps");
  t.state = State::waiting;
  t.ready = std::move(ready);
  leave_for_any();
}

}  // namespace rmq::explore
