// SPDX-License-Identifier: BSD-3-Clause
// The starter for the hosts behind one agent, in the launcher: what it asks, the agent does there with a starter of its
// own (tools/launch/agent.hpp). Also the route of the job's connection server to the ranks there.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/launch/agents.hpp"
#include "tools/launch/plan.hpp"
#include "tools/launch/server.hpp"
#include "tools/launch/starter.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// Reads the launcher's standard input for a rank 0 that is elsewhere, no more than that takes. Never waits for it:
/// what is typed while the job is in the background is the shell's.
class InputFeed {
 public:
  /// `send`: text, empty at its end. Once.
  InputFeed(EventLoop& loop, std::function<void(std::string_view text)> send);
  ~InputFeed();
  InputFeed(const InputFeed&) = delete;
  InputFeed& operator=(const InputFeed&) = delete;
  /// So many bytes have been read there.
  void taken(std::size_t bytes);

 private:
  void watch(bool on);
  void read_some();
  bool is_in_background() const;
  void await_foreground();

  EventLoop& loop_;
  Timers timers_;
  const std::function<void(std::string_view text)> send_;
  const UniqueFd own_;  // standard input, opened once more; where it cannot be:
  const int fd_;        // that itself
  std::size_t not_taken_ = 0;
  bool watched_ = false, at_end_ = false;
};

class RemoteStarter final : public Starter, private Server::Route {
 public:
  class Upcalls : public Starter::Upcalls {
   public:
    /// A rank there cannot be started.
    virtual void on_failed(const std::string& what) = 0;
    /// Last events of ranks there that waited for one that has died.
    virtual void on_events(const std::string& text) = 0;
  };

  /// For the ranks of job `number` on the hosts behind the agent in this place. `server` is the job's, as are the
  /// upcalls.
  RemoteStarter(EventLoop& loop, Agents& agents, std::size_t place, const JobPlan& plan, int number, Server& server,
                Upcalls& upcalls);
  ~RemoteStarter() override;

  std::size_t place() const { return place_; }
  /// Hosts with agents behind it, its own included.
  int hosts() const { return static_cast<int>(agents_.hosts(place_).size()); }
  /// What the agent has sent about this job.
  void hear(const Link::Frame& frame);
  /// The agent is gone, or one below it with this host: its ranks have ended, without a word. Their numbers.
  std::vector<int> on_lost();
  std::vector<int> on_lost(const std::string& host);

  Result<void> start() override;
  void signal(int signal, bool from_terminal) override;
  void kill_one(int rank) override;
  void end(int spared) override;
  void kill() override;
  void on_join(int, pid_t) override {}  // the agent watches that process
  bool is_ending(int rank) override;
  ProcessFacts facts(int rank) const override;
  void prod(int rank) override;
  void refresh() override;
  std::string last_events(int rank) override;

  /// For debuggers, once all have been started.
  const std::string& processes() const { return processes_; }
  bool has_started() const { return started_ == static_cast<int>(ranks_.size()); }

 private:
  struct Rank {
    bool alive = true, ending = false;
    pid_t pid = 0;
    std::string program, state, last_events;
  };
  void to_rank(int rank, std::string_view frame) override;
  void value(std::string_view key, std::string_view value) override;
  void fence_done() override;
  void hear_of_rank(const Link::Frame& frame, FieldReader& body);
  void say(Word word, std::string_view body = {}) { agents_.send(place_, word, number_, body); }
  std::vector<int> end_ranks(const std::function<bool(int rank)>& which);

  EventLoop& loop_;
  Agents& agents_;
  const std::size_t place_;
  const JobPlan& plan_;
  const int number_;
  Server& server_;
  Upcalls& upcalls_;
  std::map<int, Rank> ranks_;
  std::unique_ptr<InputFeed> input_;
  EventLoop::Clock::time_point looked_{};
  std::string processes_;
  int started_ = 0;
  bool over_ = false;
};

}  // namespace rmq::launch
