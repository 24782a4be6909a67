// SPDX-License-Identifier: BSD-3-Clause
// An agent's part of one job: the ranks of its host, their connection server's branch, and who else below has ranks of
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/launch/agents.hpp"
#include "tools/launch/branch.hpp"
#include "tools/launch/local.hpp"
#include "tools/launch/plan.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

/// Writes to a rank's standard input what the launcher reads for it.
class InputSink {
 public:
  /// `taken`: so many bytes have been written.
  InputSink(EventLoop& loop, UniqueFd pipe, std::function<void(std::size_t bytes)> taken);
  ~InputSink() { close(); }
  InputSink(const InputSink&) = delete;
  InputSink& operator=(const InputSink&) = delete;
  /// Empty: that is all.
  void add(std::string_view text);

 private:
  void write();
  void close();

  EventLoop& loop_;
  UniqueFd pipe_;
  const std::function<void(std::size_t bytes)> taken_;
  std::string held_;
  bool at_end_ = false;
};

class AgentJob final : private Starter::Upcalls, private Branch::Upcalls {
 public:
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// Towards the launcher.
    virtual void up(Word word, int job, std::string_view body) = 0;
  };

  /// `host`: this one's name. All outlive the job.
  AgentJob(JobPlan plan, int number, Household& household, Agents& agents, const std::string& host, Upcalls& upcalls);
  ~AgentJob() override = default;
  AgentJob(const AgentJob&) = delete;
  AgentJob& operator=(const AgentJob&) = delete;

  void start();
  void kill();
  /// A word of the launcher's about the job; goes on to the agents below whom it concerns.
  void on_launcher(const Link::Frame& frame);
  /// `get` or `fence` of an agent below.
  void on_agent(std::size_t place, const Link::Frame& frame);

 private:
  int host_number(const std::string& host) const;
  int ranks_below() const;
  bool is_here(int rank) const { return host_ >= 0 && plan_.job.host_of_rank[rank] == host_; }
  void to_place_of(int rank, const Link::Frame& frame);
  void tell_facts();
  void up(Word word, std::string_view body) override { upcalls_.up(word, number_, body); }
  void down(std::size_t place, Word word, std::string_view body) override { agents_.send(place, word, number_, body); }
  void on_join(int rank, pid_t pid) override { local_.on_join(rank, pid); }
  void on_exit(int rank, int status) override;
  void on_mpi_end(int rank) override;

  const JobPlan plan_;
  const int number_;
  Agents& agents_;
  AgentJob::Upcalls& upcalls_;
  const int host_;          // number of this one in the plan; -1: no rank is here
  std::vector<int> ranks_;  // of this host
  Branch branch_;
  UniqueFd no_input_;
  std::unique_ptr<InputSink> input_;
  LocalStarter local_;
};

}  // namespace rmq::launch
