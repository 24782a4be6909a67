// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diag/inquiry.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace rmq::launch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds before_signal{250};  // a waiting rank answers sooner
constexpr milliseconds between_signals{200};

const char* name_of(RankState state) {
  switch (state) {
    case RankState::silent:
      return "not initialised";
    case RankState::joined:
      return "initialised";
    case RankState::finalized:
      return "finalized";
    case RankState::dead:
      return "dead";
  }
  return "";
}

}  // namespace

Inquiry::Inquiry(EventLoop& loop, Server& server, std::string job, int size, Facts facts, Prod prod)
    : timers_(loop),
      server_(server),
      job_(std::move(job)),
      facts_(std::move(facts)),
      prod_rank_(std::move(prod)),
      answers_(static_cast<std::size_t>(size)) {}

bool Inquiry::is_asked(int rank) const {
  return server_.state(rank) == RankState::joined && server_.is_connected(rank) && facts_(rank).alive;
}

bool Inquiry::all_answered() const {
  for (std::size_t r = 0; r < answers_.size(); ++r)
    if (!answers_[r].full && is_asked(static_cast<int>(r))) return false;
  return true;
}

void Inquiry::ask(Done done, milliseconds patience) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  for (Answer& answer : answers_) answer = {};
  number_ = (number_ + 1) | 1;
  for (std::size_t r = 0; r < answers_.size(); ++r)
    if (is_asked(static_cast<int>(r))) server_.ask(static_cast<int>(r), number_, true);
  // Also when there is nobody to ask: never from within this call.
  deadline_ = timers_.after(all_answered() ? milliseconds(0) : patience, [this] { conclude(); });
  prod_ = timers_.after(before_signal, [this] { send_signals(); });
}

void Inquiry::send_signals() {
  for (std::size_t r = 0; r < answers_.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (answers_[r].full || !is_asked(rank)) continue;
    prod_rank_(rank);
  }
  prod_ = timers_.after(between_signals, [this] { send_signals(); });
}

void Inquiry::on_answer(int rank, std::uint32_t number, std::string_view text) {
  if (waiting_.empty() || (number != number_ && number != 0)) return;  // late
  Answer& answer = answers_[static_cast<std::size_t>(rank)];
  if (answer.full) return;
  answer.text = text;
  answer.full = text.find("\"awaits\":") != std::string_view::npos;
  if (!all_answered()) return;
  timers_.cancel(deadline_);
  deadline_ = timers_.after(milliseconds(0), [this] { conclude(); });
}

void Inquiry::conclude() {
  timers_.cancel(prod_);
  nlohmann::json job{{"job", job_}, {"ranks", nlohmann::json::array()}};
  for (std::size_t r = 0; r < answers_.size(); ++r) {
    const int rank = static_cast<int>(r);
    const ProcessFacts facts = facts_(rank);
    nlohmann::json entry{{"rank", rank}, {"program", facts.program}, {"mpi", name_of(server_.state(rank))}};
    if (facts.pid > 0) entry["pid"] = facts.pid;
    entry["process"] = !facts.alive ? "gone" : facts.state.empty() ? "unknown" : facts.state;
    if (facts.alive && !facts.host.empty()) entry["host"] = facts.host;
    auto report = nlohmann::json::parse(answers_[r].text, nullptr, false);
    if (report.is_object()) entry["report"] = std::move(report);
    job["ranks"].push_back(std::move(entry));
  }
  for (const Done& done : std::exchange(waiting_, {})) done(job);
}

}  // namespace rmq::launch
