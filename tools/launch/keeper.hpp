// SPDX-License-Identifier: BSD-3-Clause
// The keeper: the process of the launcher that holds its jobs. The first is what the user's command line asks for; more
// may be started while any runs. Signals, output and the limit of open files are those of all of them.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/launch/agents.hpp"
#include "tools/launch/bonds.hpp"
#include "tools/launch/children.hpp"
#include "tools/launch/guest.hpp"
#include "tools/launch/job.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/wishes.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Keeper final : private Job::Upcalls, private Guest::Upcalls, private Agents::Upcalls {
 public:
  /// `signal_mask` is what ranks are to start with; the launcher's own signals must already be blocked. When `leash`
  /// ends (its writer died), all is killed and the process exits. Into `table` goes the list of the first job's
  /// processes for debuggers.
  Keeper(const Options& options, EventLoop& loop, const sigset_t& signal_mask, UniqueFd leash, UniqueFd table);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Runs the job of the options and all that are started meanwhile; returns the launcher's exit code, and then nothing
  /// of them is left: that of the first job, or where it is 0, that of the first other that has failed.
  int run();
  /// The same for a program that runs already, and whatever it has started: `id` is its job's, `socket` leads to it.
  int serve(UniqueFd socket, const std::string& id);

  /// Starts a further job. It is tied to `parent` (bonds()), unless that is nullptr: when one of two that are tied
  /// comes to a bad end, so does the other. The job is the keeper's, and lives until it has finished. An error says
  /// which rank cannot be started, and why; nothing of the job is left then. On hosts where there is no agent yet one
  /// is started; what fails there ends the job later. From the event loop only.
  Result<Job*> start_job(JobPlan plan, Job* parent);

  /// Which jobs end with which others.
  Bonds& bonds() { return bonds_; }
  /// Two jobs have parted, as one of their ranks says (Bonds::untie).
  void part(const std::string& name);
  /// The same, and not all of both know that they had connected (Bonds::set_adrift).
  void set_adrift(const std::string& name, int job);

  /// The first job; nullptr when it has finished.
  Job* first_job() { return jobs_.empty() || jobs_[0]->number() != 0 ? nullptr : jobs_[0].get(); }
  /// The job of this id; nullptr when it has finished, or there never was one.
  Job* find(const std::string& id);
  /// The same by number.
  Job* find(int number);
  /// Whether this host has been lost: nothing more can be started there.
  bool is_lost(const std::string& host) const { return lost_hosts_.contains(host); }
  /// Of the job of this id, a guest's included; -1: there is none.
  int number_of(const std::string& id);
  /// How this job has ended is its parent's to judge, who has asked: it counts for nothing here.
  void excuse(int number) {
    other_codes_.erase(number);
    died_codes_.erase(number);
  }
  /// Ranks of all jobs that run.
  std::map<std::string, int> ranks_by_host() const;
  /// Of the job of this number; nullptr when it has finished.
  Server* server_of(int number);

 private:
  Result<void> watch_signals();
  int descriptors_for(const JobPlan& plan) const;
  Result<void> raise_descriptor_limit(const JobPlan& plan);
  void on_signal(const signalfd_siginfo& info);
  void forward(int signal, bool from_terminal);
  void end_all(int code, const std::string& message, void (Job::*end)(int, const std::string&) = &Job::end);
  void stop_when_done();
  Result<void> reach(const JobPlan& plan);
  void publish_processes();
  void on_word(std::size_t place, const Link::Frame& frame) override;
  void on_lost(std::size_t place, const std::string& why) override;
  void on_bad_end(Job& job) override;
  bool on_cannot_start(Job& job, const std::string& why) override {
    return wishes_.on_cannot_start(job.info().job, why);
  }
  bool awaits_others(const Job& job) const override;
  void on_death(Job& job, int rank, std::string_view how) override {
    tell_death(job.info().job, rank, how);
    wishes_.on_death(job.number(), rank);
  }
  void on_accuse(Job& job, int rank, std::string_view others, int accused, std::string_view why) override;
  void on_all_leaving() override;
  /// Of one job, or with rank -1 of several (boot_wire.hpp), which are then none of this launcher's.
  void tell_death(std::string_view jobs, int rank, std::string_view how);
  bool on_wish(Job& job, int rank, std::string_view what, std::string_view text) override {
    return wishes_.fulfil({job.number(), job.plan(), job.server()}, rank, what, text);
  }
  void on_rank_end(Job& job, int rank, int code) override { wishes_.on_rank_end(job.info().job, rank, code); }
  void on_finished(Job& job) override;
  bool on_guest_wish(std::string_view what, std::string_view text) override {
    return wishes_.fulfil({kGuest, guest_->plan(), guest_->server()}, 0, what, text);
  }
  void on_guest_end(int code) override;
  Result<void> begin();

  const Options& options_;
  EventLoop& loop_;
  const sigset_t signal_mask_;
  UniqueFd leash_, table_, signals_;
  OutputRelay output_;
  Children children_;
  std::optional<rlimit> users_limit_;  // RLIMIT_NOFILE as the user set it, when we had to raise ours
  Household household_;
  Wishes wishes_;
  static constexpr int kGuest = 0;  // its number: there is no other first job then
  std::unique_ptr<Guest> guest_;
  Agents agents_;
  std::vector<std::unique_ptr<Job>> jobs_;  // that have not finished
  Bonds bonds_;
  int jobs_made_ = 0;
  bool leaving_ = false;
  int code_ = 0;                    // of the first job
  std::map<int, int> other_codes_;  // of others that have failed, by number
  std::map<int, int> died_codes_;   // of those nobody of which was left to say, in --ft
  bool any_left_ = false;           // some job has come to its proper end
  bool ended_all_ = false;          // by the launcher, for a reason of its own
  struct Death {
    std::string job;
    int rank;  // -1: all
    std::string how;
  };
  std::vector<Death> deaths_;  // in jobs that go on
  std::set<std::string> lost_hosts_;
  int forwarded_ = 0;                                   // the last deadly signal that was passed on …
  std::chrono::steady_clock::time_point forwarded_at_;  // … and when it last came
};

}  // namespace rmq::launch
