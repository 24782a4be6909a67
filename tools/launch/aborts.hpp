// SPDX-License-Identifier: BSD-3-Clause
// Which of several aborts ends a job, and when.
//
// A rank that aborts, or leaves with an exit code instead, may only be the first that is heard of: one that reports the
// loss of another is a consequence of how that one ended, and so may be any abort that comes while another rank is on
// its way out. The launcher hears of an end itself only when all memory of the process has been freed. So such an abort
// waits for a better cause.
#pragma once

#include <functional>
#include <vector>

#include "tools/process/loop.hpp"

namespace rmq::launch {

class Aborts {
 public:
  /// Whether a rank other than `rank` (-1: any) is on its way out that has neither left properly nor aborted.
  using AnotherIsEnding = std::function<bool(int rank)>;
  /// Names this abort as the cause and ends the job; called once at most, and by on_abort, conclude or the loop.
  using End = std::function<void()>;

  Aborts(EventLoop& loop, int size, AnotherIsEnding another_is_ending);
  Aborts(const Aborts&) = delete;
  Aborts& operator=(const Aborts&) = delete;

  /// The rank wants the job to end; `for_loss`: only because another one is gone.
  void on_abort(int rank, bool for_loss, End end);

  /// The rank has aborted: how it ends now means nothing.
  bool has_aborted(int rank) const { return has_aborted_[static_cast<std::size_t>(rank)]; }

  /// One that waits for a better cause has not come for the loss of another rank.
  bool is_own() const { return own_; }

  /// No better cause will show: ends the job if an abort waits.
  void conclude();

 private:
  void look_again(int looks);

  Timers timers_;
  AnotherIsEnding another_is_ending_;
  std::vector<bool> has_aborted_;  // by rank
  End waiting_;                    // the abort that counts so far
  bool own_ = false;               // it is no mere loss
};

}  // namespace rmq::launch
