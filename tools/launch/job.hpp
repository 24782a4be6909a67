// One job of rmqrun from the first fork to the exit code: starts the ranks, serves them, carries their output, forwards
// signals, judges their deaths and ends what is left.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bootstrap.hpp"
#include "tools/diag/control.hpp"
#include "tools/diag/inquiry.hpp"
#include "tools/diag/watch.hpp"
#include "tools/launch/aborts.hpp"
#include "tools/launch/flight.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/pmi.hpp"
#include "tools/launch/server.hpp"
#include "tools/process/loop.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

class Job final : private Server::Upcalls {
 public:
  /// `signal_mask` is what the ranks are to start with; the launcher's own signals must already be blocked. When
  /// `leash` ends (its writer died), the job is killed and the process exits. Into `table`
  /// goes the list of all ranks' processes for debuggers.
  Job(const Options& options, EventLoop& loop, const sigset_t& signal_mask, UniqueFd leash, UniqueFd table);

  /// Runs the job; returns the launcher's exit code, and then nothing of the job is left.
  int run();

 private:
  struct Rank {
    pid_t pid = 0;
    bool alive = false;
    pid_t mpi_pid = 0;        // of the process that called MPI_Init
    bool went_first = false;  // it was on its way out when the first abort came that counts
    std::string program;      // as the user wrote it
    UniqueFd mpi_process;     // pidfd of the process that called MPI_Init, when that is a descendant of `pid`
  };

  Result<void> start();
  Result<void> start_rank(int rank, int app_num, const SpawnPlan& common);
  Result<void> raise_descriptor_limit();
  Result<void> watch_signals();
  void on_signal(const signalfd_siginfo& info);
  void on_child_signal();
  void on_rank_exit(int rank, int status);
  void forward(int signal, bool from_terminal);
  void end_job(int code, const std::string& message, int spared_rank = -1);
  void end_after_death(int rank, int code, const std::string& message);
  void end_ranks(int spared_rank);
  void kill_rest();
  void finish();
  void say(const std::string& message);
  void say_last_events(int rank, const std::string& cause);
  const std::string& program(int rank) const { return ranks_[static_cast<std::size_t>(rank)].program; }

  void on_mpi_end(int rank);

  void on_join(int rank, pid_t pid) override;
  void on_abort(int rank, int code, std::string_view why, bool for_loss) override;
  bool another_is_ending(int rank);
  void on_disconnect(int rank) override;
  void on_violation(int rank, std::string_view what) override;
  void on_answer(int rank, std::uint32_t number, std::string_view text) override;
  ProcessFacts facts(int rank) const;
  void watch_for_questions();
  void say_diagnosis(const std::string& why, const nlohmann::json& job);
  void on_hang();

  const Options& options_;
  EventLoop& loop_;
  const sigset_t signal_mask_;
  UniqueFd leash_, table_, signals_;
  std::string processes_;  // what goes into the table, until all ranks have been started
  UniqueFd no_input_;      // stdin of all ranks but 0
  JobInfo job_;
  Server server_;
  std::unique_ptr<PmiBoard> pmi_;  // --pmi
  OutputRelay output_;
  Inquiry inquiry_;
  std::unique_ptr<Control> control_;  // for rmqps; none where the name could not be had
  std::unique_ptr<HangWatch> watch_;  // --hang-after
  FlightMemory flight_;
  Aborts aborts_;
  std::vector<Rank> ranks_;
  std::unordered_map<pid_t, int> rank_of_;
  std::vector<int> cpus_;                               // to bind to, in turn; empty: no binding
  std::optional<rlimit> users_limit_;                   // RLIMIT_NOFILE as the user set it, when we had to raise ours
  int alive_ = 0;                                       // ranks whose process runs
  int code_ = 0;                                        // the job's exit code so far
  int forwarded_ = 0;                                   // the last deadly signal that was passed on …
  std::chrono::steady_clock::time_point forwarded_at_;  // … and when it last came
  std::string last_word_;  // the cause once more, behind events that have been printed after it
  int died_ = -1;          // rank whose death ends the job, while the others are asked about it
  std::vector<std::pair<int, std::string>>
      bereaved_;  // ranks that have aborted for the loss of one, and what they said
  bool ending_ = false;
  bool finished_ = false;
};

}  // namespace rmq::launch
