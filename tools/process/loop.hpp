// SPDX-License-Identifier: BSD-3-Clause
// The event loop of a launcher process: callbacks for file descriptors and for points in time, one thread.
// Who is called back may end before it, and leave the callbacks behind, once it runs no more; while it runs it forgets
// its descriptors, and has Timers for its points in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  using Ready = std::function<void(std::uint32_t events)>;  // EPOLLIN, EPOLLOUT, EPOLLHUP …
  using TimerId = std::pair<Clock::time_point, std::uint64_t>;

  static Result<std::unique_ptr<EventLoop>> create();

  /// Calls `ready` whenever the descriptor has one of `events` (level-triggered). The descriptor stays the caller's,
  /// who calls forget before closing it while the loop runs. False when it can't be waited for because it is a plain
  /// file, which is always ready.
  bool watch(int fd, std::uint32_t events, Ready ready);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  /// Calls `expired` once after `delay`.
  TimerId after(Clock::duration delay, std::function<void()> expired);
  void cancel(TimerId timer) { timers_.erase(timer); }

  /// Serves events until stop() is called from a callback.
  void run();
  void stop() { running_ = false; }

 private:
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  int wait_ms() const;
  void run_timers();

  struct Watch {
    std::uint32_t generation;  // tells a descriptor from an earlier one with the same number
    std::shared_ptr<Ready> ready;
  };

  UniqueFd epoll_;
  std::unordered_map<int, Watch> watches_;
  std::map<TimerId, std::function<void()>> timers_;
  std::uint32_t next_generation_ = 0;
  std::uint64_t next_timer_ = 0;
  bool running_ = true;
};

/// Points in time of somebody who may end before them, and is then not called back.
class Timers {
 public:
  explicit Timers(EventLoop& loop) : loop_(loop) {}
  EventLoop::TimerId after(EventLoop::Clock::duration delay, std::function<void()> expired) {
    return loop_.after(delay, [alive = std::weak_ptr<const char>(alive_), expired = std::move(expired)] {
      if (!alive.expired()) expired();
    });
  }
  void cancel(EventLoop::TimerId timer) { loop_.cancel(timer); }

 private:
  EventLoop& loop_;
  const std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

}  // namespace rmq::launch
