#include "tools/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/bootstrap_env.hpp"
#include "tools/launch/debug.hpp"
#include "tools/launch/env.hpp"
#include "tools/launch/open_files.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds term_grace{300};     // between SIGTERM and SIGKILL
constexpr milliseconds same_signal{100};    // between two that count as one
constexpr milliseconds verdict_grace{250};  // from the end of a rank's socket to the end of its process

JobInfo describe(const Options& options) {
  JobInfo job = boot::singleton_job();
  job.size = options.size();
  job.host_of_rank = Hosts(options.host_of_rank);
  return job;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) out.push_back(cpu);
  return out;
}

}  // namespace

Job::Job(const Options& options, EventLoop& loop, const sigset_t& signal_mask, UniqueFd leash, UniqueFd table)
    : options_(options),
      loop_(loop),
      signal_mask_(signal_mask),
      leash_(std::move(leash)),
      table_(std::move(table)),
      job_(describe(options)),
      server_(loop, job_.size, *this),
      output_(loop, job_.size, options.tag_output),
      inquiry_(loop, server_, job_.job, job_.size, [this](int rank) { return facts(rank); }),
      flight_(job_.size),
      aborts_(loop, job_.size, [this](int rank) { return another_is_ending(rank); }),
      ranks_(static_cast<std::size_t>(job_.size)) {
  if (options.bind) cpus_ = allowed_cpus();
  if (options.pmi)
    pmi_ = std::make_unique<PmiBoard>(loop, job_.job, job_.host_of_rank, std::max(job_.size, options.universe_size),
                                      [this](const std::string& what) { say(what); });
}

int Job::run() {
  adopt_orphans();
  loop_.watch(leash_.get(), EPOLLIN, [](std::uint32_t) {
    kill_descendants();
    ::_exit(128 + SIGKILL);
  });
  if (auto good = watch_signals(); !good) {
    say(good.error().what);
    return exit_cannot_start;
  }
  if (auto started = start(); !started) {
    say(started.error().what);
    kill_descendants();
    return exit_cannot_start;
  }
  watch_for_questions();
  if (options_.timeout)
    loop_.after(*options_.timeout, [this] {
      const double seconds = std::chrono::duration<double>(*options_.timeout).count();
      end_job(
          exit_timeout,
          fmt::format("the job did not end within {} s (--timeout or MPIEXEC_TIMEOUT); all ranks were ended", seconds));
    });
  loop_.run();
  return code_;
}

// ---- start ---------------------------------------------------------------------------------------------------------

Result<void> Job::raise_descriptor_limit() {
  const int per_rank = 1 + output_.descriptors_per_rank() + (pmi_ ? PmiBoard::descriptors_per_rank : 0);
  const rlim_t needed = static_cast<rlim_t>(job_.size) * static_cast<rlim_t>(per_rank) + 64;
  auto raised = raise_open_files(job_.size, needed);
  if (!raised) return tl::unexpected(raised.error());
  users_limit_ = *raised;
  return {};
}

Result<void> Job::start() {
  if (auto raised = raise_descriptor_limit(); !raised) return raised;
  no_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string prefix = install_prefix(1);
  int rank = 0, app_num = 0;
  for (const App& app : options_.apps) {
    const Environment environment = job_environment(options_, app, job_, prefix);
    auto file = find_program(app.command[0], environment.get("PATH"), app.folder);
    if (!file) return fail(Errc::argument, fmt::format("cannot start rank {}: {}", rank, file.error().what));
    SpawnPlan plan;
    plan.program = std::move(*file);
    plan.arguments = app.command;
    plan.environment = environment;
    plan.folder = app.folder;
    plan.signal_mask = &signal_mask_;
    plan.ignore_quit = true;
    plan.open_files = users_limit_ ? &*users_limit_ : nullptr;
    for (int i = 0; i < app.ranks; ++i, ++rank)
      if (auto started = start_rank(rank, app_num, plan); !started) return started;
    ++app_num;
  }
  // The front reads all of it. A front that is gone ends the job by the leash.
  write_all(table_.get(), processes_);
  table_.reset();
  processes_.clear();
  return {};
}

Result<void> Job::start_rank(int rank, int app_num, const SpawnPlan& common) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail_errno(fmt::format("no socket for rank {} (see ulimit -n)", rank));
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  if (pmi_) {
    auto lines = pmi_->translate(rank, app_num, std::move(theirs));
    if (!lines) return tl::make_unexpected(lines.error());
    theirs = std::move(*lines);
  }
  const auto ends = output_.connect(rank);
  if (!ends) return tl::make_unexpected(ends.error());

  const int host = job_.host_of_rank[rank];
  const bool pretended = !job_.host_of_rank.is_one();
  SpawnPlan plan = common;
  if (pmi_)
    set_pmi_rank(plan.environment, {rank, job_.size, theirs.get(), job_.host_of_rank.count(host, rank),
                                    job_.host_of_rank.count(host, job_.size)});
  else
    set_rank(plan.environment, {rank, app_num, theirs.get(),
                                pretended ? fmt::format("{}-{}", job_.host_name, host) : job_.host_name, job_.size});
  plan.input = rank == 0 ? -1 : no_input_.get();
  plan.output = ends->output.get();
  plan.error = ends->error.get();
  plan.keep = {theirs.get(), flight_.descriptor()};
  if (flight_.descriptor() >= 0) plan.environment.set("RMQ_FLIGHT_MEMORY", flight_.variable(rank));
  if (!cpus_.empty()) plan.cpu = cpus_[static_cast<std::size_t>(rank) % cpus_.size()];
  server_.add(rank, std::move(ours));  // before the rank can send: the kernel signs only what is sent from then on
  const auto pid = spawn(plan);
  if (!pid) return fail(Errc::system, fmt::format("cannot start rank {}: {}", rank, pid.error().what));
  processes_ += debug_entry(*pid, job_.host_name, plan.program);
  ranks_[static_cast<std::size_t>(rank)] = {
      .pid = *pid, .alive = true, .program = common.arguments[0], .mpi_process = {}};
  rank_of_[*pid] = rank;
  ++alive_;
  return {};
}

// ---- signals -------------------------------------------------------------------------------------------------------

Result<void> Job::watch_signals() {
  auto signals = receive_signals(loop_, [this](const signalfd_siginfo& info) { on_signal(info); });
  if (!signals) return tl::unexpected(signals.error());
  signals_ = std::move(*signals);
  return {};
}

void Job::on_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) {
    on_child_signal();
  } else if (info.ssi_code == SI_KERNEL || static_cast<pid_t>(info.ssi_pid) == ::getppid()) {
    // What someone sends to our whole process group comes from the front as well; once is enough.
    forward(signal, info.ssi_code == SI_KERNEL);
  }
}

// A key on the terminal reaches its whole foreground group, ranks included; only signals sent to us alone are passed
// on.
void Job::forward(int signal, bool from_terminal) {
  if (signal == SIGQUIT) return inquiry_.ask([this](const nlohmann::json& job) { say_diagnosis("", job); });
  if (is_deadly(signal)) {
    // timeout(1) sends its signal to us and to our group, which is once.
    const auto now = std::chrono::steady_clock::now();
    const bool again = now - forwarded_at_ < same_signal;
    forwarded_at_ = now;
    if (forwarded_ == signal && again) return;
    if (forwarded_ != 0 && !ending_)
      return end_job(128 + signal, fmt::format("ended by a second signal ({})", signal_name(signal)));
    forwarded_ = signal;
  }
  // In an orphaned process group (CI, nohup) the kernel ignores SIGTSTP; SIGSTOP does what the sender wanted
  // everywhere.
  const int passed = signal == SIGTSTP ? SIGSTOP : signal;
  if (from_terminal) return;
  for (const Rank& rank : ranks_)
    if (rank.alive) ::kill(rank.pid, passed);
}

void Job::on_child_signal() {
  std::vector<std::pair<int, int>> ended;  // rank, status
  reap_children([&](pid_t pid, int status) {
    if (const auto found = rank_of_.find(pid); found != rank_of_.end()) ended.emplace_back(found->second, status);
  });
  // A rank that crashed makes others fail: where both were seen at once, the crash is the cause.
  std::stable_partition(ended.begin(), ended.end(), [](const auto& end) { return WIFSIGNALED(end.second); });
  for (const auto& [rank, how] : ended) on_rank_exit(rank, how);
}

// ---- ends ----------------------------------------------------------------------------------------------------------

void Job::on_rank_exit(int rank, int status) {
  if (pmi_) pmi_->drain(rank);
  server_.drain(rank);  // what it said last decides what its death means
  output_.drain(rank);
  Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  entry.alive = false;
  rank_of_.erase(entry.pid);
  --alive_;
  if (!ending_ && !aborts_.has_aborted(rank)) {
    const Verdict verdict = judge(rank, entry.program, server_.state(rank), status, job_.size == 1);
    const bool by_users_signal = WIFSIGNALED(status) && WTERMSIG(status) == forwarded_;
    if (verdict.effect == Verdict::Effect::ends_job) {
      if (by_users_signal)
        end_job(verdict.code, fmt::format("ended by {}", signal_name(forwarded_)));
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
  if (alive_ > 0) return;
  aborts_.conclude();
  finish();
}

// Whether a rank is on its way out that has not left properly. It is remembered: nothing that comes later is why.
bool Job::another_is_ending(int rank) {
  if (ending_) return false;
  bool any = false;
  for (int other = 0; other < job_.size; ++other) {
    Rank& entry = ranks_[static_cast<std::size_t>(other)];
    if (other == rank || !entry.alive || aborts_.has_aborted(other) || server_.state(other) == RankState::finalized)
      continue;
    if (!is_ending(entry.mpi_pid != 0 ? entry.mpi_pid : entry.pid)) continue;
    any = true;
    if (!aborts_.is_own()) entry.went_first = true;
  }
  return any;
}

void Job::on_abort(int rank, int code, std::string_view why, bool for_loss) {
  if (died_ >= 0) {
    say(fmt::format("rank {} ({}) {}: {}", rank, program(rank), for_loss ? "needed it" : "has aborted then",
                    one_line(why)));
  } else if (for_loss) {
    bereaved_.push_back({rank, one_line(why)});  // whoever died is not known yet
  }
  if (ending_) return;
  aborts_.on_abort(rank, for_loss, [this, rank, code, why = one_line(why)] {
    if (ending_) return;
    const std::string cause =
        fmt::format("rank {} ({}) aborted the job with code {}: {}", rank, program(rank), code, why);
    end_job(exit_code(code), cause, rank);
    if (code != 0) say_last_events(rank, cause);
  });
}

// The socket of a wrapped MPI program (sh -c './prog; …') stays open in the wrapper, so its end would go unnoticed.
void Job::on_join(int rank, pid_t pid) {
  if (pmi_) return;  // its frames come from this process
  Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  entry.mpi_pid = pid;
  if (pid == 0 || pid == entry.pid) return;
  entry.mpi_process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!entry.mpi_process.is_open()) {
    if (errno == ESRCH) on_mpi_end(rank);  // it has died already; else the kernel is older than 5.3
    return;
  }
  loop_.watch(entry.mpi_process.get(), EPOLLIN, [this, rank](std::uint32_t) {
    loop_.forget(ranks_[static_cast<std::size_t>(rank)].mpi_process.get());
    server_.drain(rank);
    on_mpi_end(rank);
  });
}

void Job::on_disconnect(int rank) {
  on_mpi_end(rank);
}

// The process that called MPI_Init is gone. Usually the rank's process ends with it, and tells why.
void Job::on_mpi_end(int rank) {
  if (ending_ || server_.state(rank) != RankState::joined) return;
  loop_.after(verdict_grace, [this, rank] {
    server_.drain(rank);
    const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
    if (entry.alive && !aborts_.has_aborted(rank) && server_.state(rank) == RankState::joined)
      end_job(1, fmt::format(
                     "the MPI program of rank {} ({}) ended without calling MPI_Finalize; the other ranks were ended",
                     rank, program(rank)));
  });
}

void Job::on_violation(int rank, std::string_view what) {
  end_job(1, fmt::format("rank {} ({}): {}; all ranks were ended", rank, program(rank), one_line(what)));
}

void Job::end_job(int code, const std::string& message, int spared_rank) {
  if (ending_) return;  // the first reason is the cause
  ending_ = true;
  code_ = code;
  say(message);
  if (alive_ > 0) end_ranks(spared_rank);
}

void Job::end_ranks(int spared_rank) {
  signal_descendants(SIGTERM, spared_rank < 0 ? 0 : ranks_[static_cast<std::size_t>(spared_rank)].pid);
  loop_.after(term_grace, [this] { kill_rest(); });
}

void Job::kill_rest() {
  if (finished_) return;
  kill_descendants();
  alive_ = 0;
  finish();
}

// All ranks are gone: ends what they left behind, passes on the last output, stops the loop.
void Job::finish() {
  if (finished_) return;
  finished_ = true;
  kill_descendants();
  for (int rank = 0; rank < job_.size; ++rank) output_.drain(rank);
  if (!last_word_.empty()) say(last_word_);
  output_.on_written([this] {
    if (output_.is_idle()) loop_.stop();
  });
  if (output_.is_idle()) loop_.stop();
}

// Below the cause, which they must not bury.
void Job::say_last_events(int rank, const std::string& cause) {
  std::string text = flight_.report_death(rank);
  if (text.empty()) return;
  text.pop_back();  // say() ends the line
  output_.say(text);
  last_word_ = cause;
}

void Job::say(const std::string& message) {
  output_.say("rmqrun: " + message);
}

}  // namespace rmq::launch
