// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agent.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/launch/agent_job.hpp"
#include "tools/launch/agents.hpp"
#include "tools/launch/front.hpp"
#include "tools/launch/open_files.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

class Agent final : private Agents::Upcalls, private AgentJob::Upcalls {
 public:
  Agent(EventLoop& loop, const sigset_t& ranks_mask) : loop_(loop), ranks_mask_(ranks_mask) {}

  int run() {
    adopt_orphans();
    auto signals = receive_signals(loop_, [this](const signalfd_siginfo& info) { on_signal(info); });
    if (!signals) return exit_cannot_start;
    // Away from 0 and 1, which what is started must not inherit.
    UniqueFd input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing.get(), fd);
    launcher_ = std::make_unique<Link>(
        loop_, std::move(input), std::move(output), false, kSilenceUntilTold,
        [this](const Link::Frame& frame) { on_launcher(frame); }, [this](const std::string&) { loop_.stop(); });
    loop_.run();
    jobs_.clear();
    kill_descendants();
    return 0;
  }

 private:
  static constexpr std::chrono::seconds kSilenceUntilTold{60};

  void on_signal(const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      children_.reap();
    } else if (is_deadly(signal)) {
      loop_.stop();
    }
  }

  // ---- from the launcher ----

  void on_launcher(const Link::Frame& frame) {
    if (frame.word == Word::setup) return on_setup(frame.body);
    if (!household_) return loop_.stop();  // no launcher of ours
    switch (frame.word) {
      case Word::plan:
        plans_[frame.job] += frame.body;
        return agents_->send(Word::plan, frame.job, frame.body);
      case Word::start:
        agents_->send(Word::start, frame.job);
        return start(frame.job);
      case Word::printed:
        return output_->hear(frame.body);
      case Word::bye:
        leaving_ = true;
        agents_->send(Word::bye, 0);
        return leave_when_done();
      case Word::kill:
        agents_->send(Word::kill, frame.job);
        descriptors_.erase(frame.job);
        if (const auto job = jobs_.find(frame.job); job != jobs_.end()) {
          job->second->kill();
          // It may be what hears this.
          loop_.after(std::chrono::milliseconds(0), [this, number = frame.job] { jobs_.erase(number); });
        }
        return;
      default:
        if (const auto job = jobs_.find(frame.job); job != jobs_.end()) job->second->on_launcher(frame);
    }
  }

  void on_setup(std::string_view text) {
    const auto terms = read_terms(text);
    if (!terms || household_) return loop_.stop();
    terms_ = *terms;
    launcher_->expect(terms_.silence);
    output_ =
        std::make_unique<OutputRelay>(loop_, terms_.tag, terms_.shared_output, [this](int fd, std::string_view out) {
          launcher_->send(Word::output, 0, Fields().number(static_cast<std::uint32_t>(fd)).rest(out));
        });
    household_.emplace(Household{loop_, *output_, children_, ranks_mask_});
    agents_ = std::make_unique<Agents>(loop_, children_, ranks_mask_, terms_, static_cast<Agents::Upcalls&>(*this));
    if (auto started = agents_->start(std::span(terms_.hosts).subspan(1)); !started)
      launcher_->send(Word::lost, 0, lost_text({terms_.hosts.begin() + 1, terms_.hosts.end()}, started.error().what));
  }

  void start(int number) {
    auto plan = read_plan(std::exchange(plans_[number], {}));
    plans_.erase(number);
    if (!plan) return launcher_->send(Word::failed, number, plan.error().what);
    int ranks = 0;
    for (std::size_t host = 0; host < plan->hosts.size(); ++host)
      if (plan->hosts[host] == terms_.hosts[0])
        ranks += plan->job.host_of_rank.count(static_cast<int>(host), plan->job.size);
    constexpr int kJob = 4;  // flight recorder, /dev/null
    descriptors_[number] = kJob + ranks * (1 + output_->descriptors_per_rank(ranks));
    const auto below = static_cast<int>(agents_->size());
    int needed = kSpareDescriptors + 2 * below;
    for (const auto& [job, descriptors] : descriptors_) needed += descriptors;
    auto raised = raise_open_files(ranks, below, static_cast<rlim_t>(needed));
    if (!raised) return launcher_->send(Word::failed, number, terms_.hosts[0] + ": " + raised.error().what);
    if (*raised) {
      users_limit_ = *raised;
      household_->users_limit = &*users_limit_;
    }
    auto& job = jobs_[number];
    job = std::make_unique<AgentJob>(*std::move(plan), number, *household_, *agents_, terms_.hosts[0],
                                     static_cast<AgentJob::Upcalls&>(*this));
    job->start();
  }

  void up(Word word, int job, std::string_view body) override { launcher_->send(word, job, body); }

  // ---- from agents below ----

  void on_word(std::size_t place, const Link::Frame& frame) override {
    if (frame.word == Word::output)
      return output_->accept(place, frame.body, [this, place](std::string_view printed) {
        agents_->send(place, Word::printed, 0, printed);
      });
    const auto job = jobs_.find(frame.job);
    if (frame.word == Word::get || frame.word == Word::fence) {
      if (job != jobs_.end()) job->second->on_agent(place, frame);
      return;
    }
    launcher_->send(frame.word, frame.job, frame.body);
  }

  void on_lost(std::size_t place, const std::string& why) override {
    if (leaving_) return leave_when_done();
    launcher_->send(Word::lost, 0, lost_text(agents_->hosts(place), why));
  }

  static std::string lost_text(const std::vector<std::string>& hosts, const std::string& why) {
    Fields out;
    out.text(why).number(static_cast<std::uint32_t>(hosts.size()));
    for (const std::string& host : hosts) out.text(host);
    return out.whole();
  }

  // ---- the end ----

  void leave_when_done() {
    output_->on_written([this] { leave_when_done(); });
    if (agents_->up() == 0 && output_->is_idle() && launcher_->is_idle()) loop_.stop();
  }

  EventLoop& loop_;
  const sigset_t ranks_mask_;
  Children children_;
  std::unique_ptr<Link> launcher_;
  AgentTerms terms_;
  std::unique_ptr<OutputRelay> output_;
  std::optional<rlimit> users_limit_;
  std::optional<Household> household_;  // once the terms are known
  std::unique_ptr<Agents> agents_;
  std::map<int, std::string> plans_;  // by job, as far as they have come
  std::map<int, std::unique_ptr<AgentJob>> jobs_;
  std::map<int, int> descriptors_;  // that each job needs here
  bool leaving_ = false;
};

}  // namespace

int run_agent(UniqueFd leash, const sigset_t& ranks_mask) {
  auto loop = EventLoop::create();
  if (!loop) return exit_cannot_start;
  obey_front(**loop, leash.get(), [&](int signal) {
    if (is_deadly(signal)) (*loop)->stop();  // the launcher sees the end of the link
  });
  return Agent(**loop, ranks_mask).run();
}

}  // namespace rmq::launch
