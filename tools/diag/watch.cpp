// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diag/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace rmq::launch {

namespace {

constexpr std::chrono::milliseconds kShortest{1};  // between two looks
constexpr int kComputes = 8;                       // who has had more than such a part of the time of a CPU

}  // namespace

HangWatch::HangWatch(EventLoop& loop, Server& server, int size, std::chrono::milliseconds after,
                     std::function<void()> hangs, std::function<bool()> awaits_others)
    : timers_(loop),
      server_(server),
      after_(after),
      interval_(std::max(after / 4, kShortest)),
      hangs_(std::move(hangs)),
      awaits_others_(std::move(awaits_others)),
      ranks_(static_cast<std::size_t>(size)) {
  timers_.after(interval_, [this] { look(); });
}

void HangWatch::on_answer(int rank, std::uint32_t number, std::string_view text) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  if (number == 0 || number != r.asked) return;
  r.answered = true;
  const auto report = nlohmann::json::parse(text, nullptr, false);
  r.elsewhere = report.is_object() && report.value("elsewhere", false);
  const std::uint64_t beside = report.is_object() ? report.value("beside", std::uint64_t{0}) : 0;
  r.computes = beside > r.beside && std::chrono::nanoseconds(beside - r.beside) > interval_ / kComputes;
  r.beside = beside;
  const std::string state = report.is_object() ? report.value("state", "") : "";
  r.counters = state != "waiting" && state != "testing"
                   ? ""
                   : fmt::format("{} {} {} {}", state, report.value("sent", std::uint64_t{0}),
                                 report.value("received", std::uint64_t{0}), report.value("waits", std::uint64_t{0}));
}

void HangWatch::look() {
  timers_.after(interval_, [this] { look(); });
  std::string now;
  bool computes = false, elsewhere = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& r = ranks_[i];
    const int rank = static_cast<int>(i);
    if (server_.state(rank) == RankState::finalized || server_.state(rank) == RankState::dead) continue;
    computes = computes || r.computes || !server_.is_connected(rank) || !r.answered || r.counters.empty();
    now += r.counters + ";";
    elsewhere = elsewhere || r.elsewhere;
    if (!r.answered || !server_.is_connected(rank) || server_.state(rank) != RankState::joined) continue;
    number_ += 2;
    r.asked = number_;
    r.answered = false;
    server_.ask(rank, number_, false);
  }
  if (computes || now.empty() || now != before_) {
    before_ = now;
    since_ = EventLoop::Clock::now();
    told_ = still_ = false;
    return;
  }
  still_ = EventLoop::Clock::now() - since_ >= after_;
  if (!still_ || told_ || (elsewhere && awaits_others_())) return;
  told_ = true;
  hangs_();
}

}  // namespace rmq::launch
