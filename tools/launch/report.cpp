// SPDX-License-Identifier: BSD-3-Clause
// The job's side of the diagnosis: who asks for it, and where it is printed. tools/diag/inquiry.hpp asks the ranks,
// tools/diag/find.hpp finds the cause.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/diag/find.hpp"
#include "tools/diag/json_text.hpp"
#include "tools/launch/job.hpp"
#include "tools/launch/verdict.hpp"

namespace rmq::launch {

namespace {

// For the others to say who waited for a rank that has died: at most, for those that can answer do so at once, on a
// busy host in their turn, and those that compute when a signal has asked them.
constexpr std::chrono::milliseconds last_words{1000};

constexpr std::chrono::milliseconds answers{1500};  // to any other question

}  // namespace

void Job::ask(Inquiry::Done done, std::chrono::milliseconds patience) {
  for (const auto& remote : remotes_) remote->refresh();
  inquiry_.ask(std::move(done), patience);
}

void Job::watch_for_questions() {
  control_ = Control::open(loop_, plan_.job.job, [this](Control::Reply reply) {
    ask([reply = std::move(reply)](const nlohmann::json& job) { reply(json_text(job)); }, answers);
  });
  if (!hangs_.after) return;
  watch_ = std::make_unique<HangWatch>(
      loop_, server_, plan_.job.size, *hangs_.after, [this] { on_hang(); },
      [this] { return upcalls_.awaits_others(*this); });
}

void Job::on_answer(int rank, std::uint32_t number, std::string_view text) {
  inquiry_.on_answer(rank, number, text);
  if (watch_) watch_->on_answer(rank, number, text);
}

void Job::diagnose() {
  ask([this](const nlohmann::json& job) { say_diagnosis("", diag::read_job(job)); }, answers);
}

void Job::end_diagnosed(int code, const std::string& message) {
  const auto tell = [this, code, message](const nlohmann::json& document) {
    if (ending_) return;
    const diag::Job job = diag::read_job(document);
    const auto has_told = [](const diag::Rank& r) { return !r.state.empty(); };
    if (std::any_of(job.ranks.begin(), job.ranks.end(), has_told)) say_diagnosis("what the ranks are doing:", job);
    end_job(code, message);
  };
  ask(tell, answers);
}

void Job::say_diagnosis(const std::string& why, const diag::Job& job) {
  if (!why.empty()) say(why);
  std::string text = diag::describe(job);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  output_.say(text);
}

void Job::on_hang() {
  const auto tell = [this](const nlohmann::json& document) {
    if (ending_) return;
    diag::Job job = diag::read_job(document);
    job.others_wait = true;  // else nothing hangs: awaits_others()
    // Ranks that have fallen silent, as on a host that stalls, may be the cause, or know it: they are asked again.
    const bool all = std::all_of(job.ranks.begin(), job.ranks.end(), [](const diag::Rank& r) {
      return r.fate == diag::Fate::waiting || r.fate == diag::Fate::testing || r.fate == diag::Fate::left ||
             r.fate == diag::Fate::gone;
    });
    if (!all) return watch_->look_again();
    const double seconds = std::chrono::duration<double>(*hangs_.after).count();
    const std::string why =
        fmt::format("the job hangs: all ranks wait, and nothing has moved for {} s (--hang-after)", seconds);
    say_diagnosis(why, job);
    if (hangs_.abort) end_job(exit_hang, "the job was ended because it hangs (--hang-abort)");
  };
  ask(tell, answers);
}

// The others can tell who waited for the rank that has died, if they are asked at once.
void Job::end_after_death(int rank, int code, const std::string& message) {
  ending_ = true;
  code_ = code;
  died_ = rank;
  say(message);
  upcalls_.on_bad_end(*this);
  say_last_events(rank, message);
  for (const auto& [other, why] : bereaved_) say(fmt::format("{} needed it: {}", name_of(other), why));
  if (alive_ == 0) return;
  const auto done = [this](const nlohmann::json& document) {
    const diag::Job job = diag::read_job(document);
    for (const int waiter : diag::waiters_of(job, died_)) {
      const diag::Rank& r = job.ranks[static_cast<std::size_t>(waiter)];
      say(fmt::format("{} needed it: it {}", name_of(waiter), diag::doing_text(r)));
    }
    died_ = -1;
    if (!finished_) end_ranks(-1);
  };
  ask(done, last_words);
}

}  // namespace rmq::launch
