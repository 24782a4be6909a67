// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/job.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "start/exit.hpp"
#include "tools/launch/verdict.hpp"

namespace rmq::launch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds term_grace{300};     // between SIGTERM and SIGKILL
constexpr milliseconds events_grace{1000};  // for last events of other hosts
constexpr milliseconds verdict_grace{250};  // from the end of a rank's socket to the end of its process

}  // namespace

Job::Job(JobPlan plan, int number, const HangRule& hangs, Household& household, Agents& agents, Job::Upcalls& upcalls)
    : plan_(std::move(plan)),
      number_(number),
      hangs_(hangs),
      timers_(household.loop),
      loop_(household.loop),
      output_(household.output),
      upcalls_(upcalls),
      server_(household.loop, plan_.job.size, *this),
      inquiry_(
          household.loop, server_, plan_.job.job, plan_.job.size,
          [this](int rank) { return starter_of(rank).facts(rank); }, [this](int rank) { starter_of(rank).prod(rank); }),
      aborts_(household.loop, plan_.job.size, [this](int rank) { return another_is_ending(rank); }),
      ranks_(static_cast<std::size_t>(plan_.job.size)),
      codes_(static_cast<std::size_t>(plan_.job.size), 128 + SIGKILL) {  // of those that are killed at the very end
  const std::string label = number > 0 ? fmt::format("{}.", number) : "";
  const auto start_here = [&](int host) {
    locals_.push_back(
        std::make_unique<LocalStarter>(household, plan_, host, label, static_cast<Starter::Upcalls&>(*this),
                                       [this](int rank, UniqueFd socket) { server_.add(rank, std::move(socket)); }));
    return locals_.back().get();
  };
  if (std::ranges::find(plan_.here, false) == plan_.here.end() && (plan_.pretended || plan_.hosts.size() == 1)) {
    starter_of_host_.assign(plan_.hosts.size(), start_here(-1));
    return;
  }
  for (std::size_t host = 0; host < plan_.hosts.size(); ++host) {
    if (plan_.here[host]) {
      starter_of_host_.push_back(start_here(static_cast<int>(host)));
      continue;
    }
    const std::size_t place = agents.place_of(plan_.hosts[host]).value();
    if (remote_at(place) == nullptr)
      remotes_.push_back(std::make_unique<RemoteStarter>(household.loop, agents, place, plan_, number, server_,
                                                         static_cast<RemoteStarter::Upcalls&>(*this)));
    starter_of_host_.push_back(remote_at(place));
  }
}

Starter& Job::starter_of(int rank) {
  return *starter_of_host_[static_cast<std::size_t>(plan_.job.host_of_rank[rank])];
}

RemoteStarter* Job::remote_at(std::size_t place) {
  const auto found = std::ranges::find_if(remotes_, [&](const auto& one) { return one->place() == place; });
  return found == remotes_.end() ? nullptr : found->get();
}

Result<void> Job::start() {
  for (Rank& rank : ranks_) rank.alive = true;
  alive_ = plan_.job.size;
  server_.publish_hosts(plan_.job.host_of_rank);
  for (const auto& remote : remotes_) static_cast<void>(remote->start());  // they report later
  for (const auto& local : locals_)
    if (auto started = local->start(); !started) return started;
  watch_for_questions();
  return {};
}

const std::string& Job::program(int rank) const {
  auto section = plan_.sections.begin();
  for (; rank >= section->ranks; ++section) rank -= section->ranks;
  return section->command[0];
}

// "rank 3 (prog)"; of a later job with its number.
std::string Job::name_of(int rank) const {
  if (number_ > 0) return fmt::format("rank {} of job {} ({})", rank, number_, program(rank));
  return fmt::format("rank {} ({})", rank, program(rank));
}

bool Job::has_started() const {
  return std::ranges::all_of(remotes_, [](const auto& remote) { return remote->has_started(); });
}

void Job::expect_end_by(int signal) {
  forwarded_ = signal;
  if (!has_started())
    end_job(128 + signal, fmt::format("ended by {}", signal_name(signal)));  // nobody there could hear it
}

void Job::signal(int signal, bool from_terminal) {
  for (const auto& remote : remotes_) remote->signal(signal, from_terminal);
  for (const auto& local : locals_) local->signal(signal, from_terminal);
}

// ---- ends ----------------------------------------------------------------------------------------------------------

void Job::on_exit(int rank, int status) {
  if (finished_) return;
  server_.drain(rank);  // what it said last decides what its death means
  Rank& entry = rank_of(rank);
  entry.alive = false;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  codes_[static_cast<std::size_t>(rank)] = code;
  upcalls_.on_rank_end(*this, rank, code);
  --alive_;
  any_left_ = any_left_ || server_.state(rank) == RankState::finalized;
  if (!ending_ && !aborts_.has_aborted(rank) && !entry.buried) {
    const Verdict verdict =
        judge(name_of(rank), server_.state(rank), status, plan_.job.size == 1 || goes_on_without(rank));
    const bool by_users_signal = WIFSIGNALED(status) && WTERMSIG(status) == forwarded_;
    if (verdict.effect == Verdict::Effect::ends_job) {
      if (by_users_signal)
        end_job(verdict.code, fmt::format("ended by {}", signal_name(forwarded_)));
      else if (goes_on_without(rank))
        bury(rank, verdict.code,
             entry.last_words.empty() ? verdict.message : fmt::format("{} {}", name_of(rank), entry.last_words));
      else if (WIFSIGNALED(status) || entry.went_first)
        end_after_death(rank, verdict.code, verdict.message);
      else if (aborts_.is_own())
        aborts_.conclude();  // it has left because of that
      else                   // it may have left because another one has died
        aborts_.on_abort(rank, false, [this, rank, verdict] {
          if (!ending_) end_after_death(rank, verdict.code, verdict.message);
        });
    } else if (verdict.effect == Verdict::Effect::recorded) {
      if (code_ == 0) code_ = verdict.code;
      if (!verdict.message.empty()) say(verdict.message);
    }
  }
  if (!ending_ && !aborts_.has_aborted(rank)) server_.depart(rank);
  if (alive_ == 0) on_nobody_left();
}

void Job::on_nobody_left() {
  aborts_.conclude();
  if (!ending_ && !any_left_ && first_death_ != 0) code_ = first_death_;  // nobody is left to say how it went
  finish();
}

// ---- a job that goes on when ranks die (--ft) ----

// Until all have met at the end of MPI_Init the others need it.
bool Job::goes_on_without(int rank) const {
  return plan_.job.ft && server_.has_met(rank);
}

void Job::bury(int rank, int code, const std::string& message) {
  rank_of(rank).buried = true;
  if (first_death_ == 0) first_death_ = code;
  say(message + "; the job goes on without it (--ft)");
  server_.bury(rank, one_line(message));
  upcalls_.on_death(*this, rank, one_line(message));
}

// Who is lost to one rank is to be dead for all, or they would be of different minds about it.
void Job::on_accuse(int rank, std::string_view job, int accused, std::string_view why) {
  if (!plan_.job.ft) return;
  if (!job.empty()) return upcalls_.on_accuse(*this, rank, job, accused, why);
  if (accused == rank) {
    rank_of(rank).last_words = one_line(why);
    return;
  }
  accuse(fmt::format("rank {}", rank), accused, why);
}

void Job::accuse(const std::string& whose, int accused, std::string_view why) {
  if (accused < 0 || accused >= plan_.job.size || ending_ || rank_of(accused).buried) return;
  timers_.after(verdict_grace, [this, whose, accused, why = one_line(why)] {
    if (ending_ || rank_of(accused).buried || !rank_of(accused).alive) return;
    if (server_.state(accused) == RankState::finalized) return;
    say(fmt::format("{} is ended, as {} has lost it: {}", name_of(accused), whose, why));
    starter_of(accused).kill_one(accused);
  });
}

bool Job::on_all_leaving() {
  upcalls_.on_all_leaving();
  return false;
}

// Whether a rank is on its way out that has not left properly. It is remembered: nothing that comes later is why.
bool Job::another_is_ending(int rank) {
  if (ending_) return false;
  bool any = false;
  for (int other = 0; other < plan_.job.size; ++other) {
    Rank& entry = rank_of(other);
    if (other == rank || !entry.alive || aborts_.has_aborted(other) || server_.state(other) == RankState::finalized)
      continue;
    if (!starter_of(other).is_ending(other)) continue;
    any = true;
    if (!aborts_.is_own()) entry.went_first = true;
  }
  return any;
}

void Job::on_abort(int rank, int code, std::string_view why, bool for_loss) {
  if (died_ >= 0) {
    say(fmt::format("{} {}: {}", name_of(rank), for_loss ? "needed it" : "has aborted then", one_line(why)));
  } else if (for_loss) {
    bereaved_.push_back({rank, one_line(why)});  // whoever died is not known yet
  }
  if (ending_) return;
  aborts_.on_abort(rank, for_loss, [this, rank, code, why = one_line(why)] {
    if (ending_) return;
    const std::string cause = fmt::format("{} aborted the job with code {}: {}", name_of(rank), code, why);
    end_job(boot::status_of(code), cause, rank);
    if (code != 0) say_last_events(rank, cause);
  });
}

void Job::on_join(int rank, pid_t pid) {
  starter_of(rank).on_join(rank, pid);
}

void Job::on_disconnect(int rank) {
  on_mpi_end(rank);
}

// The process that called MPI_Init is gone. Usually the rank's process ends with it, and tells why.
void Job::on_mpi_end(int rank) {
  if (ending_ || server_.state(rank) != RankState::joined) return;
  timers_.after(verdict_grace, [this, rank] {
    server_.drain(rank);
    if (!rank_of(rank).alive || aborts_.has_aborted(rank) || server_.state(rank) != RankState::joined) return;
    const std::string what = fmt::format("the MPI program of {} ended without calling MPI_Finalize", name_of(rank));
    if (goes_on_without(rank))
      bury(rank, 1, what);
    else
      end_job(1, what + "; the other ranks were ended");
  });
}

void Job::on_violation(int rank, std::string_view what) {
  end_job(1, fmt::format("{}: {}; all ranks were ended", name_of(rank), one_line(what)));
}

void Job::end_job(int code, const std::string& message, int spared_rank) {
  if (ending_) return;  // the first reason is the cause
  ending_ = true;
  code_ = code;
  if (!message.empty() && (has_started() || !upcalls_.on_cannot_start(*this, message))) say(message);
  upcalls_.on_bad_end(*this);
  if (alive_ > 0) end_ranks(spared_rank);
}

void Job::end_ranks(int spared_rank) {
  for (const auto& remote : remotes_) remote->end(spared_rank);
  for (const auto& local : locals_) local->end(spared_rank);
  timers_.after(term_grace, [this] { kill_rest(); });
}

void Job::kill_rest() {
  if (finished_) return;
  kill();
  finish();
}

void Job::kill_all() {
  for (const auto& remote : remotes_) remote->kill();
  for (const auto& local : locals_) {
    local->kill();
    local->drain_output();
  }
}

void Job::kill() {
  ending_ = true;
  hosts_to_tell_ = 0;  // they are not heard any more
  kill_all();
  alive_ = 0;
}

// All ranks are gone: ends what they left behind and passes on the last output.
void Job::finish() {
  if (finished_) return;
  if (hosts_to_tell_ > 0) {
    if (!std::exchange(awaits_events_, true)) timers_.after(events_grace, [this] { kill_rest(); });
    return;
  }
  finished_ = true;
  kill_all();
  if (!last_word_.empty()) say(last_word_);
  control_.reset();
  upcalls_.on_finished(*this);
}

// Below the cause, which they must not bury.
void Job::say_last_events(int rank, const std::string& cause) {
  std::string text = starter_of(rank).last_events(rank);
  for (const auto& local : locals_)
    if (local.get() != &starter_of(rank)) text += local->last_events(rank);
  for (const auto& remote : remotes_)
    if (remote.get() != &starter_of(rank)) static_cast<void>(remote->last_events(rank));
  for (const auto& remote : remotes_) hosts_to_tell_ += remote->hosts();
  cause_ = cause;
  say_events(text);
}

void Job::say_events(std::string text) {
  while (text.ends_with('\n')) text.pop_back();  // say() ends the line
  if (text.empty()) return;
  output_.say(text);
  last_word_ = cause_;
}

// Of ranks on other hosts that waited for the one that has died, if there were any.
void Job::on_events(const std::string& text) {
  if (finished_) return;
  say_events(text);
  if (hosts_to_tell_ > 0 && --hosts_to_tell_ == 0 && awaits_events_) finish();
}

void Job::on_failed(const std::string& what) {
  end_job(exit_cannot_start, what);
}

}  // namespace rmq::launch
