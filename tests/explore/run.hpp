// SPDX-License-Identifier: BSD-3-Clause
// One schedule: the threads of a model, and every access that they make. explore() makes one Run and runs it again and
// again.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/fiber.hpp"
#include "tests/explore/memory.hpp"
#include "tests/explore/schedule.hpp"

namespace rmq::explore {

/// What a read-modify-write leaves.
std::uint64_t updated(Update what, std::uint64_t old, std::uint64_t operand);

class Run {
 public:
  Run(const Bounds& bounds, const Mutant* mutant) : bounds_(bounds), site_(mutant) {}

  /// False when the schedule failed.
  bool run(const Model& model, bool tell);

  Choices choices;
  Report report;

  // For the threads.
  int current = -1;
  void fail(std::string_view why);
  void point();
  void pause();
  void nap();
  void wait_until(std::function<bool()> ready);
  /// Counts a store of the current thread: others may have a reason to look again.
  void stored() {
    ++stores_;
    ++threads_[now()].stores;
  }
  std::uint64_t load(const void* at, std::size_t bytes, std::memory_order order, const Where& where);
  void store(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order, const Where& where);
  std::uint64_t update(void* at, std::size_t bytes, Update what, std::uint64_t operand, std::memory_order order,
                       const Where& where);
  bool compare_exchange(void* at, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired,
                        std::memory_order success, std::memory_order failure, const Where& where);
  void fence(std::memory_order order, const Where& where);
  void light_fence(const Where& where);
  void heavy_fence(const Where& where);
  template <class... Args>
  void tell(const Where* where, fmt::format_string<Args...> format, Args&&... args) {
    if (!telling_) return;
    std::string place;
    if (where) {
      const std::string_view path = where->file_name();
      place = fmt::format("{}:{}", path.substr(path.rfind('/') + 1), where->line());
    }
    report.text += fmt::format("  thread {}  {:<24} {}\n", current, place,
                               fmt::vformat(fmt::string_view(format), fmt::make_format_args(args...)));
  }
  Memory memory;

 private:
  enum class State : std::uint8_t { ready, paused, napping, waiting, done };
  struct Thread {
    std::unique_ptr<os::Fiber> fiber;
    State state = State::ready;
    bool broken = false;          // left in the middle: its stack cannot be used again
    bool chosen = false;          // just now: no choice before its next access
    bool fresh = false;           // loads bring the newest stores only, until it pauses
    bool idle = false;            // has found nothing in them: only another store of somebody else helps
    std::uint64_t stores = 0;     // of its own
    std::uint64_t paused_at = 0;  // stores of others when it paused
    std::uint64_t fresh_at = 0;   // and when it became fresh
    int naps = 0;                 // in a row, without a store of others
    std::function<bool()> ready;
  };

  bool may_run(const Thread& t) const;
  std::size_t runnable(std::array<std::size_t, kThreads>& who, bool naps) const;
  std::size_t now() const { return static_cast<std::size_t>(current); }
  void leave(std::size_t next);
  void leave_for_any();
  void count_step();
  void give_up(std::string_view why);
  std::size_t pick(std::size_t location, std::memory_order order);
  void put(std::size_t location, void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
           const View* base);
  static void main(void* run);

  static constexpr std::size_t kNobody = SIZE_MAX;

  const Bounds& bounds_;
  Site site_;
  Program program_;
  std::array<Thread, kThreads> threads_;
  std::size_t count_ = 0;
  std::size_t next_ = kNobody;  // who is resumed when the current one pauses
  std::uint64_t stores_ = 0;
  int preemptions_ = 0, stale_ = 0, steps_ = 0;
  bool failed_ = false, over_ = false, telling_ = false;
};

/// The one that runs; null outside of schedules.
extern Run* running;

}  // namespace rmq::explore
