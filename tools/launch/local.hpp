// SPDX-License-Identifier: BSD-3-Clause
// The starter for this host: forks the ranks. Each inherits one end of a socket pair, whose other end it hands to
// whoever serves the rank.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/launch/binding.hpp"
#include "tools/launch/children.hpp"
#include "tools/launch/flight.hpp"
#include "tools/launch/output.hpp"
#include "tools/launch/plan.hpp"
#include "tools/launch/pmi.hpp"
#include "tools/launch/starter.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// What the starters of one process share. All of it outlives them.
struct Household {
  EventLoop& loop;
  OutputRelay& output;
  Children& children;
  const sigset_t& signal_mask;          // what ranks are to start with
  const rlimit* users_limit = nullptr;  // RLIMIT_NOFILE as the user set it, when we had to raise ours
  std::map<CpuSet, int> bound = {};     // how many ranks that live are bound to a place
  int jobs = 0;                         // that have processes here: with one alone, every descendant is its own
};

class LocalStarter final : public Starter {
 public:
  using Serve = std::function<void(int rank, UniqueFd socket)>;

  /// For the ranks of `plan` on `host` (-1: on any: all hosts are this one). `label` is put before the number of a rank
  /// where output is labelled. `serve` is called from start(), for each rank before it can say a word.
  LocalStarter(Household& household, const JobPlan& plan, int host, std::string label, Upcalls& upcalls, Serve serve);
  ~LocalStarter() override;
  LocalStarter(const LocalStarter&) = delete;
  LocalStarter& operator=(const LocalStarter&) = delete;

  /// Where rank 0 reads from, if it is here and the plan has input for it; -1: the launcher's own stdin. To be called
  /// before start(); the descriptor stays the caller's.
  void set_input(int fd) { input_ = fd; }

  Result<void> start() override;
  void signal(int signal, bool from_terminal) override;
  void kill_one(int rank) override;
  void end(int spared) override;
  void kill() override;
  void on_join(int rank, pid_t pid) override;
  bool is_ending(int rank) override;
  ProcessFacts facts(int rank) const override;
  void prod(int rank) override;
  std::string last_events(int rank) override;

  /// The ranks' processes as a debugger wants them (tools/launch/debug.hpp).
  const std::string& processes() const { return processes_; }
  /// Reads what the rank has printed so far; of all of them.
  void drain_output(int rank);
  void drain_output();

 private:
  struct Rank {
    pid_t pid = 0;
    bool alive = false;
    pid_t mpi_pid = 0;     // of the process that called MPI_Init
    UniqueFd mpi_process;  // pidfd of it, when that is a descendant of `pid`
    int output = -1;       // of the relay
    CpuSet cpus;           // that it is bound to, as long as it lives
    std::string program;   // as the user wrote it
  };

  bool is_here(int rank) const { return host_ < 0 || plan_.job.host_of_rank[rank] == host_; }
  /// Its place among those of this host, and back.
  std::size_t place(int rank) const;
  Rank& rank_of(int rank) { return ranks_[place(rank)]; }
  const Rank& rank_of(int rank) const { return ranks_[place(rank)]; }
  Result<void> start_rank(int rank, int app_num, const SpawnPlan& common);
  void on_exit(int rank, int status);
  void on_mpi_process_end(int rank);
  std::function<bool(pid_t child)> is_of_job() const;
  CpuSet take_place();
  void free_place(Rank& rank);

  Household& household_;
  const JobPlan& plan_;
  const int host_;
  const std::string label_;
  Upcalls& upcalls_;
  const Serve serve_;
  FlightMemory flight_;
  std::unique_ptr<PmiBoard> pmi_;  // ranks of another MPI's library
  std::vector<int> numbers_;       // of the ranks here, ascending; empty where all of the job are
  std::vector<Rank> ranks_;        // in the order of their numbers
  std::vector<CpuSet> places_;     // to bind to, in turn; empty: no binding
  UniqueFd no_input_;              // stdin of all ranks but 0
  int input_ = -1;
  std::string processes_;
};

}  // namespace rmq::launch
