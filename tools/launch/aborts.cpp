// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/aborts.hpp"

#include <chrono>
#include <utility>

namespace rmq::launch {

namespace {

constexpr std::chrono::milliseconds between_looks{250};
constexpr int most_looks = 40;  // 10 s: what a rank that is on its way out holds may take long to free

}  // namespace

Aborts::Aborts(EventLoop& loop, int size, AnotherIsEnding another_is_ending)
    : timers_(loop), another_is_ending_(std::move(another_is_ending)), has_aborted_(static_cast<std::size_t>(size)) {}

void Aborts::on_abort(int rank, bool for_loss, End end) {
  if (!for_loss && !own_ && !another_is_ending_(rank)) return end();
  has_aborted_[static_cast<std::size_t>(rank)] = true;
  const bool first = !waiting_;
  if (own_ || (for_loss && !first)) return;  // the first that is no mere loss counts
  waiting_ = std::move(end);
  own_ = !for_loss;
  if (first) look_again(0);
}

void Aborts::look_again(int looks) {
  timers_.after(between_looks, [this, looks] {
    if (looks < most_looks && another_is_ending_(-1)) return look_again(looks + 1);
    conclude();
  });
}

void Aborts::conclude() {
  if (waiting_) waiting_();
}

}  // namespace rmq::launch
