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

constexpr std::chrono::milliseconds same_signal{100};  // between two that count as one

std::pair<int, int> ordered(int a, int b) {
  return std::minmax(a, b);
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
          fmt::format("the job did not end within {} s (--timeout or MPIEXEC_TIMEOUT); all ranks were ended", seconds));
    });
  loop_.run();
  kill_descendants();
  return code_ != 0 || other_codes_.empty() ? code_ : other_codes_.begin()->second;
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

Result<void> Keeper::raise_descriptor_limit(const JobPlan& plan) {
  const int of_pmi = options_.pmi ? PmiBoard::descriptors_per_rank : 0;
  int ranks = 0, agents = 0;
  for (std::size_t host = 0; host < plan.hosts.size(); ++host) {
    if (plan.pretended) {
      ranks = plan.job.size;
    } else if (plan.here[host]) {
      ranks += plan.job.host_of_rank.count(static_cast<int>(host), plan.job.size);
    } else {
      agents = std::min(agents + 1, options_.fan_out);
    }
  }
  const int needed = descriptors_ + ranks * (1 + output_.descriptors_per_rank(plan.job.size) + of_pmi) + 2 * agents;
  auto raised = raise_open_files(ranks, static_cast<rlim_t>(needed));
  if (!raised) return tl::unexpected(raised.error());
  descriptors_ = needed;
  if (!*raised) return {};
  users_limit_ = *raised;
  household_.users_limit = &*users_limit_;
  return {};
}

Result<Job*> Keeper::start_job(JobPlan plan, Job* parent) {
  if (auto raised = raise_descriptor_limit(plan); !raised) return tl::unexpected(raised.error());
  if (auto reached = reach(plan); !reached) return tl::unexpected(reached.error());
  const int number = jobs_made_++;
  plan.takes_input = number == 0;
  std::unique_ptr<Job> job(
      new Job(std::move(plan), number, {options_.hang_after, options_.hang_abort}, household_, agents_, *this));
  if (auto started = job->start(); !started) {
    job->kill();
    return tl::unexpected(started.error());
  }
  if (parent != nullptr) connect(parent->number(), number);
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
    } else if (!agents_.is_up(*place)) {
      return fail(Errc::system, fmt::format("host {} has been lost before", plan.hosts[host]));
    }
  }
  return agents_.start(missing);
}

void Keeper::on_word(std::size_t place, const Link::Frame& frame) {
  FieldReader body(frame.body);
  if (frame.word == Word::output) {
    const int fd = static_cast<int>(body.number());
    const std::string_view text = body.rest();
    return output_.accept(fd, text, [this, place, bytes = static_cast<std::uint32_t>(text.size())] {
      agents_.send(place, Word::printed, 0, Fields().number(bytes));
    });
  }
  if (frame.word == Word::lost) {
    const std::string why = body.text();
    std::vector<std::string> hosts(std::min<std::size_t>(body.number(), frame.body.size()));
    for (std::string& host : hosts) host = body.text();
    for (const auto& job : jobs_) job->on_lost_hosts(place, hosts, why);
    return;
  }
  const auto job = std::ranges::find_if(jobs_, [&](const auto& one) { return one->number() == frame.job; });
  if (job == jobs_.end()) return;
  (*job)->on_word(place, frame);
  if (frame.word == Word::started) publish_processes();
}

void Keeper::on_lost(std::size_t place, const std::string& why) {
  for (const auto& job : jobs_) job->on_lost_agent(place, why);
  stop_when_done();
}

void Keeper::connect(int a, int b) {
  connected_.insert(ordered(a, b));
}

void Keeper::disconnect(int a, int b) {
  if (const auto found = connected_.find(ordered(a, b)); found != connected_.end()) connected_.erase(found);
}

Job* Keeper::find(const std::string& id) {
  const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return job->info().job == id; });
  return found == jobs_.end() ? nullptr : found->get();
}

Server* Keeper::board_of(int number) {
  if (guest_ && number == kGuest) return &guest_->server();
  const auto found = std::ranges::find_if(jobs_, [&](const auto& job) { return job->number() == number; });
  return found == jobs_.end() ? nullptr : &(*found)->server();
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
  }
  // In an orphaned process group (CI, nohup) the kernel ignores SIGTSTP; SIGSTOP does what the sender wanted
  // everywhere.
  for (const auto& job : jobs_) job->signal(signal == SIGTSTP ? SIGSTOP : signal, from_terminal);
}

// ---- ends ----------------------------------------------------------------------------------------------------------

void Keeper::end_all(int code, const std::string& message) {
  std::string once = message;
  for (const auto& job : jobs_) {
    if (job->is_ending()) continue;
    job->end(code, once);
    once.clear();
  }
}

// What it has started and not parted from ends with it, unless all went well.
void Keeper::on_guest_end(int code) {
  for (const auto& job : jobs_)
    if (code != 0 && !job->is_ending() && connected_.contains(ordered(kGuest, job->number()))) job->end(code, "");
  loop_.after(std::chrono::milliseconds(0), [this] { stop_when_done(); });
}

void Keeper::on_bad_end(Job& job) {
  if (guest_ && guest_->is_here() && connected_.contains(ordered(kGuest, job.number())))
    guest_->server().end(job.code(), "a job that it has started has come to a bad end");
  for (const auto& other : jobs_) {
    if (other.get() == &job || other->is_ending() || !connected_.contains(ordered(job.number(), other->number())))
      continue;
    other->end(job.code(),
               fmt::format("job {} was ended because job {}, with which it is connected, has come to a bad end",
                           other->number(), job.number()));
  }
}

void Keeper::on_finished(Job& job) {
  if (job.number() == 0) code_ = job.code();
  if (job.number() != 0 && job.code() != 0) other_codes_[job.number()] = job.code();
  wishes_.on_finished(job.number(), job.info().job, job.codes());
  // It is in the middle of its last words.
  loop_.after(std::chrono::milliseconds(0), [this, number = job.number()] {
    std::erase_if(connected_, [&](const auto& pair) { return pair.first == number || pair.second == number; });
    std::erase_if(jobs_, [&](const auto& one) { return one->number() == number; });
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
