// SPDX-License-Identifier: BSD-3-Clause
// How jobs end, and the keeper with the last of them.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "tools/launch/front.hpp"
#include "tools/launch/keeper.hpp"
#include "tools/launch/open_files.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

void Keeper::end_all(int code, const std::string& message, void (Job::*end)(int, const std::string&)) {
  ended_all_ = true;
  std::string once = message;
  for (const auto& job : jobs_) {
    if (job->is_ending()) continue;
    (job.get()->*end)(code, once);
    once.clear();
  }
}

// What it has started and not parted from ends with it, unless all went well.
void Keeper::on_guest_end(int code) {
  for (const auto& job : jobs_)
    if (code != 0 && !job->is_ending() && bonds_.ends_with(job->number(), kGuest)) job->end(code, "");
  loop_.after(std::chrono::milliseconds(0), [this] { stop_when_done(); });
}

void Keeper::on_bad_end(Job& job) {
  if (guest_ && guest_->is_here() && bonds_.ends_with(kGuest, job.number()))
    guest_->server().end(job.code(), "a job that it has started has come to a bad end");
  for (const auto& other : jobs_) {
    if (other.get() == &job || other->is_ending() || !bonds_.ends_with(other->number(), job.number())) continue;
    if (other->goes_on()) continue;  // it hears of the deaths, once they are
    other->end(job.code(),
               fmt::format("job {} was ended because job {}, {}, has come to a bad end", other->number(), job.number(),
                           bonds_.awaited_by(other->number()) == job.number() ? "which has started it"
                                                                              : "with which it is connected"));
  }
}

// ---- jobs that go on when ranks die (--ft) ----

// All jobs hear of each death: any may have met that one, or come to.
void Keeper::tell_death(std::string_view jobs, int rank, std::string_view how) {
  std::string news;
  while (!jobs.empty()) {
    const std::string job(boot::next_word(jobs));
    if (std::ranges::any_of(deaths_, [&](const Death& d) { return d.job == job && d.rank == rank; })) continue;
    deaths_.push_back({job, rank, std::string(how)});
    news += (news.empty() ? "" : " ") + job;
  }
  if (news.empty()) return;
  for (const auto& other : jobs_)
    if (other->info().job != news) other->server().tell_death(news, rank, how);
}

// Of another launcher's job nobody here can be ended: it is dead to all of ours.
void Keeper::on_accuse(Job& job, int rank, std::string_view others, int accused, std::string_view why) {
  std::string strangers;
  while (!others.empty()) {
    const std::string id(boot::next_word(others));
    if (Job* const known = find(id))
      known->accuse(fmt::format("rank {} of job {}", rank, job.number()), accused, why);
    else
      strangers += (strangers.empty() ? "" : " ") + id;
  }
  tell_death(strangers, accused, why);
}

// MPI_Finalize is collective over all that are connected: whoever leaves may be asked what has been agreed on
// (engine/ft).
void Keeper::on_all_leaving() {
  for (const auto& job : jobs_) {
    if (!job->server().all_leaving()) continue;
    bool all = true, any_goes_on = false;
    const std::set<int> group = bonds_.connected_with(job->number());
    for (const auto& other : jobs_) {
      if (!group.contains(other->number()) || other->is_ending() || other->is_finished()) continue;
      all = all && other->server().all_leaving();
      any_goes_on = any_goes_on || other->server().any_goes_on();
    }
    if (!all) continue;
    for (const auto& other : jobs_)
      if (group.contains(other->number()) && other->server().all_leaving()) other->server().let_leave(any_goes_on);
  }
}

void Keeper::on_finished(Job& job) {
  const bool died = job.goes_on() && !job.has_ended_well() && !ended_all_;
  if (died) {
    died_codes_[job.number()] = job.code();
  } else {
    any_left_ = true;
    if (job.number() == 0) code_ = job.code();
    if (job.number() != 0 && job.code() != 0) other_codes_[job.number()] = job.code();
  }
  wishes_.on_finished(job.number(), job.info().job, job.codes());  // first, as it knows more than that
  // One that is adrift waits for nobody who may take it for connected; what they still ask it nobody answers any more.
  if (died || bonds_.has_adrift(job.number()))
    tell_death(job.info().job, -1, fmt::format("job {} has {}", job.number(), died ? "come to a bad end" : "ended"));
  // It is in the middle of its last words.
  loop_.after(std::chrono::milliseconds(0), [this, number = job.number()] {
    bonds_.forget(number);
    std::erase_if(jobs_, [&](const auto& one) { return one->number() == number; });
    on_all_leaving();  // others may have waited for it
    stop_when_done();
  });
}

void Keeper::stop_when_done() {
  if (!jobs_.empty() || (guest_ && guest_->is_here())) return;
  output_.on_written([this] { stop_when_done(); });
  // Agents leave when all that their ranks have printed is here.
  if (!std::exchange(leaving_, true)) {
    agents_.expect_ends();
    agents_.send(Word::bye, 0);
  }
  if (agents_.up() == 0 && output_.is_idle()) loop_.stop();
}

}  // namespace rmq::launch
