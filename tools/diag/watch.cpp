#include "tools/diag/watch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace rmq::launch {

HangWatch::HangWatch(EventLoop& loop, Server& server, int size, std::chrono::milliseconds after,
                     std::function<void()> hangs)
    : timers_(loop), server_(server), after_(after), hangs_(std::move(hangs)), ranks_(static_cast<std::size_t>(size)) {
  timers_.after(after_ / 4, [this] { look(); });
}

void HangWatch::on_answer(int rank, std::uint32_t number, std::string_view text) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  if (number == 0 || number != r.asked) return;
  r.answered = true;
  const auto report = nlohmann::json::parse(text, nullptr, false);
  const std::string state = report.is_object() ? report.value("state", "") : "";
  r.counters = state != "waiting" && state != "testing"
                   ? ""
                   : fmt::format("{} {} {} {}", state, report.value("sent", std::uint64_t{0}),
                                 report.value("received", std::uint64_t{0}), report.value("waits", std::uint64_t{0}));
}

void HangWatch::look() {
  timers_.after(after_ / 4, [this] { look(); });
  std::string now;
  bool computes = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& r = ranks_[i];
    const int rank = static_cast<int>(i);
    if (server_.state(rank) == RankState::finalized || server_.state(rank) == RankState::dead) continue;
    computes = computes || !server_.is_connected(rank) || !r.answered || r.counters.empty();
    now += r.counters + ";";
    if (!r.answered || !server_.is_connected(rank) || server_.state(rank) != RankState::joined) continue;
    number_ += 2;
    r.asked = number_;
    r.answered = false;
    server_.ask(rank, number_, false);
  }
  if (computes || now.empty() || now != before_) {
    before_ = now;
    since_ = EventLoop::Clock::now();
    told_ = false;
  } else if (!told_ && EventLoop::Clock::now() - since_ >= after_) {
    told_ = true;
    hangs_();
  }
}

}  // namespace rmq::launch
