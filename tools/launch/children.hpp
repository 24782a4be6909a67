// SPDX-License-Identifier: BSD-3-Clause
// The processes that this one has started and waits for: who is to hear of the end of which.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace rmq::launch {

class Children {
 public:
  /// `status` as waitpid returns it.
  using Ended = std::function<void(int status)>;

  void add(pid_t pid, const void* owner, Ended ended) { waiting_[pid] = {owner, std::move(ended)}; }
  /// Nobody wants to hear of its end any more.
  void forget(pid_t pid) {
    waiting_.erase(pid);
    std::erase_if(reaped_, [&](const Reaped& one) { return one.pid == pid; });
  }
  /// Whether somebody waits for it and it has not been reaped: only then the number is sure to be its own.
  bool has(pid_t pid) const { return waiting_.contains(pid); }
  /// Sends it a signal, if it has not been reaped.
  void kill(pid_t pid, int signal) const {
    if (has(pid)) ::kill(pid, signal);
  }
  /// nullptr for one that nobody has added: an orphan that this process has adopted.
  const void* owner_of(pid_t pid) const {
    const auto found = waiting_.find(pid);
    return found == waiting_.end() ? nullptr : found->second.owner;
  }

  /// To be called when SIGCHLD has come: reaps all children that have ended, adopted ones too, and tells of each who
  /// has a right to know. Those that a signal has killed come first: a crash makes others fail, and where both are seen
  /// at once it is the cause.
  void reap();

 private:
  struct Waiting {
    const void* owner = nullptr;
    Ended ended;
  };
  struct Reaped {
    pid_t pid;
    int status;
    Ended ended;
  };
  std::unordered_map<pid_t, Waiting> waiting_;
  std::list<Reaped> reaped_;  // whose ends have not been told yet
};

}  // namespace rmq::launch
