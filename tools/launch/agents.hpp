// SPDX-License-Identifier: BSD-3-Clause
// The agents that one process has started on other hosts, and their links. They form a tree: each is handed the names
// of further hosts, on which it starts agents itself, so that thousands of hosts are reached in a few steps and nobody
// holds more than kFanOut links.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/children.hpp"
#include "tools/launch/link.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// What an agent is told before anything else.
struct AgentTerms {
  std::string launcher;                       // command that runs a command on another host: agent_command()
  int fan_out = 32;                           // agents that one process starts
  std::chrono::milliseconds silence{10'000};  // after which the other side of a link is given up
  bool tag = false, shared_output = false;    // of OutputRelay
  std::vector<std::string> hosts;             // its own, and those below it
};
std::string terms_text(const AgentTerms& terms);
std::optional<AgentTerms> read_terms(std::string_view text);

/// The command line that makes rmqrun an agent.
inline constexpr const char* agent_option = "--agent";

/// What starts an agent on a host: the words of `launcher`, in which {} stands for the host, else it follows them, and
/// the command itself. An empty launcher is ssh. Where the other side is a shell (ssh, rsh), `program` is quoted for
/// it.
std::vector<std::string> agent_command(const std::string& launcher, const std::string& host,
                                       const std::string& program);

class Agents {
 public:
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// From the event loop. `place` names the agent.
    virtual void on_word(std::size_t place, const Link::Frame& frame) = 0;
    /// It is gone, and with it what it had started; `why` begins with its host's name.
    virtual void on_lost(std::size_t place, const std::string& why) = 0;
  };

  Agents(EventLoop& loop, Children& children, const sigset_t& signal_mask, AgentTerms terms, Upcalls& upcalls)
      : loop_(loop),
        timers_(loop),
        children_(children),
        signal_mask_(signal_mask),
        terms_(std::move(terms)),
        upcalls_(upcalls) {}
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Starts agents on these hosts. An error says what cannot be executed here; what fails on the other side is lost.
  Result<void> start(std::span<const std::string> hosts);

  std::size_t size() const { return agents_.size(); }
  /// The hosts behind an agent, its own first.
  const std::vector<std::string>& hosts(std::size_t place) const { return agents_[place]->hosts; }
  /// Behind which agent a host is; nothing when none has been started there.
  std::optional<std::size_t> place_of(std::string_view host) const;
  bool is_up(std::size_t place) const { return agents_[place]->link && agents_[place]->link->is_up(); }
  /// Those that are up.
  int up() const;

  /// Nothing when it is gone.
  void send(std::size_t place, Word word, int job, std::string_view body = {});
  /// What keeps a host from telling of its processes: "has not answered yet", "has been silent …". Else empty.
  std::string why_unheard(std::size_t place) const;
  /// To all.
  void send(Word word, int job, std::string_view body = {});

  /// No loss is told any more as one, only that an agent has gone. Those that have not answered yet are given up.
  void expect_ends();

 private:
  struct Agent {
    std::vector<std::string> hosts;
    std::unique_ptr<Link> link;
    pid_t pid = 0;
    std::optional<int> status;  // of the command that started it, once it has ended
  };
  Result<void> start_one(std::vector<std::string> hosts);
  void on_lost(std::size_t place, const std::string& why);
  std::string how_it_ended(const Agent& agent) const;

  EventLoop& loop_;
  Timers timers_;
  Children& children_;
  const sigset_t& signal_mask_;
  const AgentTerms terms_;
  Upcalls& upcalls_;
  std::vector<std::unique_ptr<Agent>> agents_;
  bool ending_ = false;
};

}  // namespace rmq::launch
