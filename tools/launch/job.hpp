// SPDX-License-Identifier: BSD-3-Clause
// One job from its first process to its last: serves its ranks, judges their deaths and ends what is left. Its
// processes are the business of its starters; what it shares with other jobs of the same launcher is the keeper's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/diag/control.hpp"
#include "tools/diag/inquiry.hpp"
#include "tools/diag/watch.hpp"
#include "tools/launch/aborts.hpp"
#include "tools/launch/local.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/plan.hpp"
#include "tools/launch/remote.hpp"
#include "tools/launch/server.hpp"
#include "tools/launch/starter.hpp"
#include "tools/process/loop.hpp"

namespace rmq::diag {
struct Job;
}

namespace rmq::launch {

class Job final : private Server::Upcalls, private RemoteStarter::Upcalls {
 public:
  /// What the keeper hears of a job; made from the event loop, or from within end().
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// The job is going to end before its time: what is connected with it is to end as well.
    virtual void on_bad_end(Job& job) = 0;
    /// Some rank cannot be started, or one has failed before all were. True: whoever has asked for the job is told why,
    /// and nobody else has to be.
    virtual bool on_cannot_start(Job& job, const std::string& why) = 0;
    /// A rank of it has died, and it goes on.
    virtual void on_death(Job& job, int rank, std::string_view how) = 0;
    /// One of its ranks has lost one of another job (-1: all), in a job that goes on when ranks die.
    virtual void on_accuse(Job& job, int rank, std::string_view other, int accused, std::string_view why) = 0;
    /// All its ranks that live are in the last fence: opens it once all that it is connected with are.
    virtual void on_all_leaving() = 0;
    /// One of its ranks wants something of the launcher (tools/launch/wishes.hpp). False: nobody knows such a wish.
    virtual bool on_wish(Job& job, int rank, std::string_view what, std::string_view text) = 0;
    /// Whether what ends a wait in this job for another one may still come from there.
    virtual bool awaits_others(const Job& job) const = 0;
    /// The process of a rank has ended, with this code (codes()).
    virtual void on_rank_end(Job& job, int rank, int code) = 0;
    /// Nothing of the job runs any more.
    virtual void on_finished(Job& job) = 0;
  };

  /// How a hang of the job is found, and what then.
  struct HangRule {
    std::optional<std::chrono::milliseconds> after;
    bool abort = false;
  };

  /// `number`: 0 for the first job of the launcher; later ones are named with theirs.
  /// `agents` has one on each host of the plan that is not here.
  Job(JobPlan plan, int number, const HangRule& hangs, Household& household, Agents& agents, Upcalls& upcalls);
  ~Job() override = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Starts all ranks. An error names the first that cannot be started; kill() then, and nothing is left.
  Result<void> start();

  /// Passes a signal on to all ranks.
  void signal(int signal, bool from_terminal);
  /// The user wants it to end, by this signal: a rank that dies of it is no failure of its own. A job that has not
  /// started everywhere ends at once.
  void expect_end_by(int signal);

  /// Ends all ranks within a moment, unless the job ends anyway. `message` is printed unless it is empty.
  void end(int code, const std::string& message) { end_job(code, message); }
  /// Ends all at once, without a word.
  void kill();

  /// A rank (named by `whose`) has lost this one, which is to be dead for all.
  void accuse(const std::string& whose, int accused, std::string_view why);

  /// Prints what each rank is doing.
  void diagnose();
  /// As end(), after that.
  void end_diagnosed(int code, const std::string& message);

  const JobInfo& info() const { return plan_.job; }
  const JobPlan& plan() const { return plan_; }
  int number() const { return number_; }
  /// The exit code so far.
  int code() const { return code_; }
  /// Of each rank: its exit code, or 128 + the signal that has ended it.
  const std::vector<int>& codes() const { return codes_; }
  /// Whether it goes on when ranks die.
  bool goes_on() const { return plan_.job.ft; }
  /// Whether some rank has come to its proper end, and the job was not ended.
  bool has_ended_well() const { return any_left_ && !ending_; }
  bool is_ending() const { return ending_; }
  /// Whether all ranks have been started, as far as is known here.
  bool has_started() const;
  /// All its ranks wait, and nothing moves (--hang-after).
  bool is_still() const { return watch_ && watch_->is_still(); }
  bool is_finished() const { return finished_; }
  Server& server() { return server_; }
  /// The ranks' processes as a debugger wants them, once all have been started.
  std::optional<std::string> processes() const;

  /// What an agent has sent about this job, and its end, or that of one below it on these hosts.
  void on_word(std::size_t place, const Link::Frame& frame);
  void on_lost_agent(std::size_t place, const std::string& why);
  void on_lost_hosts(std::size_t place, const std::vector<std::string>& hosts, const std::string& why);

 private:
  struct Rank {
    bool alive = false;
    bool buried = false;      // it has died, and the job goes on
    bool went_first = false;  // it was on its way out when the first abort came that counts
    std::string last_words;   // why it ends, as it says itself
  };

  void end_job(int code, const std::string& message, int spared_rank = -1);
  void end_after_death(int rank, int code, const std::string& message);
  void end_ranks(int spared_rank);
  void kill_rest();
  void kill_all();
  void on_nobody_left();
  void finish();
  void say(const std::string& message);
  void say_last_events(int rank, const std::string& cause);
  void say_events(std::string text);
  Rank& rank_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Starter& starter_of(int rank);
  RemoteStarter* remote_at(std::size_t place);
  void ask(Inquiry::Done done, std::chrono::milliseconds patience);
  void on_lost_ranks(const std::vector<int>& ranks, int code, const std::string& why);
  std::string name_of(int rank) const;
  const std::string& program(int rank) const;
  bool another_is_ending(int rank);
  bool goes_on_without(int rank) const;
  void bury(int rank, int code, const std::string& message);
  void watch_for_questions();
  void say_diagnosis(const std::string& why, const diag::Job& job);
  void on_hang();

  // Of the starter.
  void on_exit(int rank, int status) override;
  void on_mpi_end(int rank) override;
  void on_failed(const std::string& what) override;
  void on_events(const std::string& text) override;
  // Of the server.
  void on_join(int rank, pid_t pid) override;
  void on_abort(int rank, int code, std::string_view why, bool for_loss) override;
  void on_accuse(int rank, std::string_view job, int accused, std::string_view why) override;
  bool on_all_leaving() override;
  void on_disconnect(int rank) override;
  void on_violation(int rank, std::string_view what) override;
  void on_answer(int rank, std::uint32_t number, std::string_view text) override;
  bool on_wish(int rank, std::string_view what, std::string_view text) override {
    return upcalls_.on_wish(*this, rank, what, text);
  }

  const JobPlan plan_;
  const int number_;
  const HangRule hangs_;
  Timers timers_;
  EventLoop& loop_;
  OutputRelay& output_;
  Job::Upcalls& upcalls_;
  Server server_;
  std::vector<std::unique_ptr<LocalStarter>> locals_;
  std::vector<std::unique_ptr<RemoteStarter>> remotes_;
  std::vector<Starter*> starter_of_host_;
  Inquiry inquiry_;
  std::unique_ptr<Control> control_;  // for rmqps; none where the name could not be had
  std::unique_ptr<HangWatch> watch_;  // --hang-after
  Aborts aborts_;
  std::vector<Rank> ranks_;
  std::vector<int> codes_;
  int alive_ = 0;               // ranks whose process runs
  int code_ = 0;                // the job's exit code so far
  int first_death_ = 0;         // exit code of the first rank that has died while the job went on
  bool any_left_ = false;       // some rank has come to its proper end
  int forwarded_ = 0;           // the signal by which the user has ended it
  std::string cause_;           // why last events are asked for
  int hosts_to_tell_ = 0;       // that have not answered with theirs …
  bool awaits_events_ = false;  // … which is all that the job waits for
  std::string last_word_;       // the cause once more, behind events that have been printed after it
  int died_ = -1;               // rank whose death ends the job, while the others are asked about it
  std::vector<std::pair<int, std::string>>
      bereaved_;  // ranks that have aborted for the loss of one, and what they said
  bool ending_ = false;
  bool finished_ = false;
};

}  // namespace rmq::launch
