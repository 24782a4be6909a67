// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "tools/launch/front.hpp"
#include "tools/launch/open_files.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

constexpr std::chrono::milliseconds same_signal{100};     // between two that count as one
constexpr std::chrono::milliseconds goes_on_after{3000};  // a signal that ends most programs

int ranks_here(const JobPlan& plan) {
  int ranks = 0;
  for (std::size_t host = 0; host < plan.hosts.size(); ++host)
    if (plan.pretended || plan.here[host]) ranks += plan.job.host_of_rank.count(static_cast<int>(host), plan.job.size);
  return ranks;
}

}  // namespace

Keeper::Keeper(const Options& options, EventLoop& loop, const sigset_t& signal_mask, UniqueFd leash, UniqueFd table)
    : options_(options),
      loop_(loop),
      signal_mask_(signal_mask),
      leash_(std::move(leash)),
      table_(std::move(table)),
      output_(loop, options.tag_output),
      household_{loop, output_, children_, signal_mask_},
      wishes_(*this, loop),
      agents_(loop, children_, signal_mask_,
              {options.launcher, options.fan_out, options.silence, options.tag_output, output_.is_shared(), {}},
              *this) {}

Result<void> Keeper::begin() {
  adopt_orphans();
  obey_front(loop_, leash_.get(), [this](int signal) { forward(signal, false); });
  return watch_signals();
}

int Keeper::serve(UniqueFd socket, const std::string& id) {
  if (auto good = begin(); !good) {
    output_.say("rmqrun: " + good.error().what);
    return exit_cannot_start;
  }
  JobPlan plan = plan_job(options_);
  plan.job.job = id;
  jobs_made_ = kGuest + 1;
  guest_.reset(new Guest(loop_, std::move(plan), std::move(socket), *this));
  table_.reset();
  loop_.run();
  kill_descendants();
  return other_codes_.empty() ? 0 : other_codes_.begin()->second;
}

int Keeper::run() {
  const auto say = [this](const std::string& what) {
    output_.say("rmqrun: " + what);
    return exit_cannot_start;
  };
  if (auto good = begin(); !good) return say(good.error().what);
  const auto first = start_job(plan_job(options_), nullptr);
  if (!first) {
    kill_descendants();
    return say(first.error().what);
  }
  publish_processes();
  if (options_.timeout)
    loop_.after(*options_.timeout, [this] {
      const double seconds = std::chrono::duration<double>(*options_.timeout).count();
      end_all(
          exit_timeout,
          fmt::format("the job did not end within {} s (--timeout or MPIEXEC_TIMEOUT); all ranks were ended", seconds),
          &Job::end_diagnosed);
    });
  loop_.run();
  kill_descendants();
  if (code_ != 0) return code_;
  if (!other_codes_.empty()) return other_codes_.begin()->second;
  if (output_.has_lost()) return exit_lost_output;
  return any_left_ || died_codes_.empty() ? 0 : died_codes_.begin()->second;
}

// For debuggers, when all ranks of the first job have been started. The front reads all of it. A front that is gone
// ends the job by the leash.
void Keeper::publish_processes() {
  if (!table_.is_open()) return;
  const auto processes = jobs_.empty() ? std::string() : jobs_[0]->processes();
  if (!processes) return;
  write_all(table_.get(), *processes);
  table_.reset();
}

// Of its own ranks and of what looks after them.
int Keeper::descriptors_for(const JobPlan& plan) const {
  constexpr int kJob = 4;  // flight recorder, /dev/null, rmqps
  const int of_pmi = options_.pmi ? PmiBoard::descriptors_per_rank : 0;
  return kJob + ranks_here(plan) * (1 + output_.descriptors_per_rank(plan.job.size) + of_pmi);
}

Result<void> Keeper::raise_descriptor_limit(const JobPlan& plan) {
  const auto elsewhere = static_cast<int>(std::ranges::count(plan.here, false)) * (plan.pretended ? 0 : 1);
  const int agents = std::min(elsewhere + static_cast<int>(agents_.size()), options_.fan_out);
  int needed = kSpareDescriptors + 2 * agents + descriptors_for(plan);
  for (const auto& job : jobs_) needed += descriptors_for(job->plan());
  auto raised = raise_open_files(ranks_here(plan), agents, static_cast<rlim_t>(needed));
  if (!raised) return tl::unexpected(raised.error());
  if (!*raised) return {};
  users_limit_ = *raised;
  household_.users_limit = &*users_limit_;
  return {};
}

Result<Job*> Keeper::start_job(JobPlan plan, Job* parent) {
  if (auto raised = raise_descriptor_limit(plan); !raised) return tl::unexpected(raised.error());
  if (auto reached = reach(plan); !reached) return tl::unexpected(reached.error());
  const int number = jobs_made_++;
  plan.takes_input = number == 0 && options_.takes_input;
  for (const std::string& note : plan.notes) output_.say("rmqrun: " + note);
  std::unique_ptr<Job> job(
      new Job(std::move(plan), number, {options_.hang_after, options_.hang_abort}, household_, agents_, *this));
  for (const Death& d : deaths_) job->server().tell_death(d.job, d.rank, d.how);  // it may come to meet those jobs
  if (auto started = job->start(); !started) {
    job->kill();
    return tl::unexpected(started.error());
  }
  if (parent != nullptr) bonds_.tie(job->info().job, {parent->number(), number});
  return jobs_.emplace_back(std::move(job)).get();
}

// Sees to it that there is an agent on each host of the plan that needs one.
Result<void> Keeper::reach(const JobPlan& plan) {
  std::vector<std::string> missing;
  for (std::size_t host = 0; host < plan.hosts.size(); ++host) {
    if (plan.here[host]) continue;
    const auto place = agents_.place_of(plan.hosts[host]);
    if (!place) {
      missing.push_back(plan.hosts[host]);
    } else if (!agents_.is_up(*place) || is_lost(plan.hosts[host])) {
      return fail(Errc::system, fmt::format("host {} has been lost before", plan.hosts[host]));
    }
  }
  return agents_.start(missing);
}

void Keeper::on_word(std::size_t place, const Link::Frame& frame) {
  if (frame.word == Word::output)
    return output_.accept(place, frame.body,
                          [this, place](std::string_view printed) { agents_.send(place, Word::printed, 0, printed); });
  FieldReader body(frame.body);
  if (frame.word == Word::lost) {
    const std::string why = body.text();
    std::vector<std::string> hosts(std::min<std::size_t>(body.number(), frame.body.size()));
    for (std::string& host : hosts) lost_hosts_.insert(host = body.text());
    for (const auto& job : jobs_) job->on_lost_hosts(place, hosts, why);
    return;
  }
  const auto job = std::ranges::find_if(jobs_, [&](const auto& one) { return one->number() == frame.job; });
  if (job == jobs_.end()) return;
  (*job)->on_word(place, frame);
  if (frame.word != Word::started) return;
  publish_processes();
  if ((*job)->has_started()) wishes_.on_started((*job)->info().job);
}

void Keeper::on_lost(std::size_t place, const std::string& why) {
  lost_hosts_.insert(agents_.hosts(place).begin(), agents_.hosts(place).end());
  for (const auto& job : jobs_) job->on_lost_agent(place, why);
  stop_when_done();
}

void Keeper::part(const std::string& name) {
  bonds_.untie(name);
  on_all_leaving();  // one may have waited for the other
}

void Keeper::set_adrift(const std::string& name, int job) {
  bonds_.set_adrift(name, job);
  on_all_leaving();
}

Job* Keeper::find(const std::string& id) {
  const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return job->info().job == id; });
  return found == jobs_.end() ? nullptr : found->get();
}

Job* Keeper::find(int number) {
  const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return job->number() == number; });
  return found == jobs_.end() ? nullptr : found->get();
}

Server* Keeper::server_of(int number) {
  if (guest_ && number == kGuest) return &guest_->server();
  Job* const job = find(number);
  return job == nullptr ? nullptr : &job->server();
}

int Keeper::number_of(const std::string& id) {
  if (guest_ && guest_->plan().job.job == id) return kGuest;
  const Job* const job = find(id);
  return job == nullptr ? -1 : job->number();
}

std::map<std::string, int> Keeper::ranks_by_host() const {
  std::map<std::string, int> ranks;
  for (const auto& job : jobs_)
    for (std::size_t host = 0; host < job->plan().hosts.size(); ++host)
      ranks[job->plan().hosts[host]] += job->info().host_of_rank.count(static_cast<int>(host), job->info().size);
  return ranks;
}

// ---- signals -------------------------------------------------------------------------------------------------------

Result<void> Keeper::watch_signals() {
  auto signals = receive_signals(loop_, [this](const signalfd_siginfo& info) { on_signal(info); });
  if (!signals) return tl::unexpected(signals.error());
  signals_ = std::move(*signals);
  return {};
}

void Keeper::on_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) {
    children_.reap();
  } else if (info.ssi_code == SI_KERNEL) {
    forward(signal, true);  // what someone sends to our whole process group comes from the front as well
  }
}

// A key on the terminal reaches its whole foreground group, ranks included; only signals sent to us alone are passed
// on.
void Keeper::forward(int signal, bool from_terminal) {
  if (signal == SIGQUIT) {
    for (const auto& job : jobs_) job->diagnose();
    return;
  }
  if (is_deadly(signal)) {
    // timeout(1) sends its signal to us and to our group, which is once.
    const auto now = std::chrono::steady_clock::now();
    const bool again = now - forwarded_at_ < same_signal;
    forwarded_at_ = now;
    if (forwarded_ == signal && again) return;
    if (forwarded_ != 0)
      return end_all(128 + signal, fmt::format("ended by a second signal ({})", signal_name(signal)));
    forwarded_ = signal;
    for (const auto& job : jobs_) job->expect_end_by(signal);
    loop_.after(goes_on_after, [this, signal] {
      if (!jobs_.empty() && !ended_all_)
        output_.say(fmt::format("rmqrun: the job goes on after {}; a second signal ends it", signal_name(signal)));
    });
  }
  // In an orphaned process group (CI, nohup) the kernel ignores SIGTSTP; SIGSTOP does what the sender wanted
  // everywhere.
  for (const auto& job : jobs_) job->signal(signal == SIGTSTP ? SIGSTOP : signal, from_terminal);
}

// Jobs that are tied, directly or by others, hang when all of them do. Of those that other launchers have nothing is
// known.
bool Keeper::awaits_others(const Job& job) const {
  const std::set<int> together = bonds_.all_with(job.number());
  if (together.size() == 1 || (guest_ && together.contains(kGuest))) return true;
  return !std::ranges::all_of(jobs_,
                              [&](const auto& one) { return !together.contains(one->number()) || one->is_still(); });
}

}  // namespace rmq::launch
