// SPDX-License-Identifier: BSD-3-Clause
#include "explorer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "run.hpp"

namespace rmq::explore {
namespace {

// The schedule that has failed once more, in words.
void tell_again(Run& run, const Model& model, std::uint64_t number) {
  run.report.failed = true;
  run.report.number = number;
  run.choices.again();
  if (number >= kRandom) run.choices.seed(number);
  run.report.text = fmt::format("schedule {}:\n", number);
  run.run(model, true);
}

}  // namespace

Report explore(const Model& model, const Bounds& bounds, const Mutant* mutant) {
  Run run(bounds, mutant);
  do {
    if (!run.run(model, false)) {
      tell_again(run, model, run.report.schedules);
      return run.report;
    }
    ++run.report.schedules;
    run.report.complete = !run.choices.advance();
  } while (!run.report.complete && run.report.schedules < bounds.most);
  for (std::uint64_t n = 0; n < bounds.random; ++n) {
    run.choices.seed(kRandom + n);
    if (!run.run(model, false)) {
      tell_again(run, model, kRandom + n);
      return run.report;
    }
    ++run.report.schedules;
  }
  return run.report;
}

Report replay(const Model& model, const Bounds& bounds, std::uint64_t number, const Mutant* mutant) {
  Run run(bounds, mutant);
  if (number >= kRandom) {
    run.choices.seed(number);
  } else {
    for (std::uint64_t n = 0; n < number; ++n) {
      run.run(model, false);
      if (!run.choices.advance()) return run.report;
    }
  }
  run.report.schedules = 1;
  const bool fine = run.run(model, false);
  run.report.why.clear();
  tell_again(run, model, number);
  run.report.failed = !fine;
  return run.report;
}

// ---- for threads ----

void expect(bool good, std::string_view what) {
  if (good || !running) return;
  running->fail(what);
}

void pause() {
  if (running && running->current >= 0) running->pause();
}

void nap() {
  if (running && running->current >= 0) running->nap();
}

void wait_until(std::function<bool()> ready) {
  running->wait_until(std::move(ready));
}

void step(std::string_view what) {
  if (!running || running->current < 0) return;
  running->point();
  running->tell(nullptr, "{}", what);
}

void plain_read(const void* at, std::string_view what) {
  if (!running || running->current < 0) return;
  running->tell(nullptr, "reads {}", what);
  if (!running->memory.plain_read(static_cast<std::size_t>(running->current), at))
    running->fail(fmt::format("data race: {} is read while it may still be written", what));
}

void plain_write(const void* at, std::string_view what) {
  if (!running || running->current < 0) return;
  running->tell(nullptr, "writes {}", what);
  if (!running->memory.plain_write(static_cast<std::size_t>(running->current), at))
    running->fail(fmt::format("data race: {} is written while it may still be read or written", what));
}

int me() {
  return running ? running->current : -1;
}

struct Bell::Inside {
  int rings = 0;
  View view;
};

Bell::Bell() : inside_(std::make_shared<Inside>()) {}

void Bell::ring() {
  step("rings");
  ++inside_->rings;
  if (running && running->current >= 0)
    running->memory.release_into(static_cast<std::size_t>(running->current), inside_->view);
}

void Bell::wait(const std::function<bool()>& timed_out) {
  running->wait_until([&, inside = inside_.get()] { return inside->rings > 0 || (timed_out && timed_out()); });
  inside_->rings = 0;
  running->memory.acquire_from(static_cast<std::size_t>(running->current), inside_->view);
}

struct Mutex::Inside {
  bool held = false;
  View view;
};

Mutex::Mutex() : inside_(std::make_shared<Inside>()) {}

void Mutex::lock() {
  if (running && running->current >= 0) {
    running->wait_until([inside = inside_.get()] { return !inside->held; });
    running->tell(nullptr, "locks");
    running->memory.acquire_from(static_cast<std::size_t>(running->current), inside_->view);
  }
  inside_->held = true;
}

bool Mutex::try_lock() {
  step("tries to lock");
  if (inside_->held) return false;
  inside_->held = true;
  if (running && running->current >= 0)
    running->memory.acquire_from(static_cast<std::size_t>(running->current), inside_->view);
  return true;
}

void Mutex::unlock() {
  step("unlocks");
  inside_->held = false;
  if (!running || running->current < 0) return;
  running->memory.release_into(static_cast<std::size_t>(running->current), inside_->view);
  running->stored();
}

// ---- for atomics ----

namespace {

// Outside of threads, before they start or when they have returned, memory is plain.
bool outside() {
  return !running || running->current < 0;
}

std::uint64_t peek(const void* at, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

}  // namespace

std::uint64_t load(const void* at, std::size_t bytes, std::memory_order order, const Where& where) {
  return outside() ? peek(at, bytes) : running->load(at, bytes, order, where);
}

void store(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order, const Where& where) {
  if (outside())
    std::memcpy(at, &value, bytes);
  else
    running->store(at, bytes, value, order, where);
}

std::uint64_t update(void* at, std::size_t bytes, Update what, std::uint64_t operand, std::memory_order order,
                     const Where& where) {
  if (!outside()) return running->update(at, bytes, what, operand, order, where);
  const std::uint64_t old = peek(at, bytes);
  const std::uint64_t value = updated(what, old, operand);
  std::memcpy(at, &value, bytes);
  return old;
}

bool compare_exchange(void* at, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired,
                      std::memory_order success, std::memory_order failure, const Where& where) {
  if (!outside()) return running->compare_exchange(at, bytes, expected, desired, success, failure, where);
  const std::uint64_t old = peek(at, bytes);
  if (old != expected) {
    expected = old;
    return false;
  }
  std::memcpy(at, &desired, bytes);
  return true;
}

void fence(std::memory_order order, const Where& where) {
  if (!outside()) running->fence(order, where);
}

void light_fence(const Where& where) {
  if (!outside()) running->light_fence(where);
}

void heavy_fence(const Where& where) {
  if (!outside()) running->heavy_fence(where);
}

}  // namespace rmq::explore
