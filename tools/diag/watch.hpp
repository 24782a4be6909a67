// SPDX-License-Identifier: BSD-3-Clause
// Finds out that a job hangs: every rank waits inside of MPI, and none has moved a packet or begun another wait for a
// while. Asks each rank for its counters four times in that while; a rank whose call waits answers at once, one that
// computes does not, and then nothing hangs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/server.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class HangWatch {
 public:
  /// `hangs` is called once for each hang: again only after something has moved. `awaits_others`: whether what ends a
  /// wait for another job may still come from there; asked only where some rank may wait so.
  HangWatch(EventLoop& loop, Server& server, int size, std::chrono::milliseconds after, std::function<void()> hangs,
            std::function<bool()> awaits_others);
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// It cannot be told yet what hangs: `hangs` is called once more as soon as all ranks answer and nothing has moved.
  void look_again() { told_ = false; }

  /// An answer has come (Server::Upcalls).
  void on_answer(int rank, std::uint32_t number, std::string_view text);
  /// All ranks have waited for that while, and nothing has moved.
  bool is_still() const { return still_; }

 private:
  void look();

  Timers timers_;
  Server& server_;
  const std::chrono::milliseconds after_, interval_;
  const std::function<void()> hangs_;
  const std::function<bool()> awaits_others_;
  struct Rank {
    std::uint32_t asked = 0;  // number of the latest question; 0: none
    bool answered = true;
    std::string counters;      // of the latest answer; empty: it is not in MPI
    bool elsewhere = false;    // it may wait for another job
    std::uint64_t beside = 0;  // ns of CPU that its threads have had but for that which has answered
    bool computes = false;     // one of those does
  };
  std::vector<Rank> ranks_;
  std::string before_;  // all ranks' counters when they last changed
  EventLoop::Clock::time_point since_;
  std::uint32_t number_ = 0;  // even: odd ones are Inquiry's
  bool told_ = false;
  bool still_ = false;
};

}  // namespace rmq::launch
