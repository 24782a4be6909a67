// SPDX-License-Identifier: BSD-3-Clause
// Starts the ranks of one job on one host and looks after their processes: by fork where the launcher itself runs
// (tools/launch/local.hpp), through an agent elsewhere.
//
// All calls and upcalls are made by the thread of the event loop.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.hpp"

namespace rmq::launch {

/// What the launcher knows of a rank's process.
struct ProcessFacts {
  std::string program;
  pid_t pid = 0;  // of the process that has initialised MPI; 0: not known
  bool alive = true;
  std::string state;  // "running", "sleeping", "stopped" …, "unknown"
  std::string host;   // why nothing new is known of it, where its host is: "has not answered yet" …
};

class Starter {
 public:
  /// Made from the event loop, never from within a call of the Starter's.
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// The process of the rank has ended, with this wait status. The last of the rank.
    virtual void on_exit(int rank, int status) = 0;
    /// The process that called MPI_Init is gone, while that which was started as the rank may live.
    virtual void on_mpi_end(int rank) = 0;
  };

  virtual ~Starter() = default;

  /// Starts all its ranks. An error names the first that cannot be started, and why; those before it run then.
  virtual Result<void> start() = 0;

  /// Sends a signal to each rank that lives; `from_terminal`: the terminal has sent it to its whole foreground group.
  virtual void signal(int signal, bool from_terminal) = 0;

  /// SIGKILL to one rank; on_exit follows.
  virtual void kill_one(int rank) = 0;

  /// SIGTERM to all ranks and what they have started, but the rank `spared` (-1: none) and what that has.
  virtual void end(int spared) = 0;

  /// SIGKILL to all of them: when it returns none is left, and no upcall comes any more.
  virtual void kill() = 0;

  /// The rank has initialised MPI, in this process (0: not known), a descendant of its own perhaps.
  virtual void on_join(int rank, pid_t pid) = 0;

  /// Whether the rank is on its way out, as far as is known here.
  virtual bool is_ending(int rank) = 0;

  virtual ProcessFacts facts(int rank) const = 0;

  /// Reminds a rank that is not in MPI of a question (tools/diag/inquiry.hpp).
  virtual void prod(int rank) = 0;

  /// Asks for facts that are not known at once, as soon as the caller has gone back to the event loop.
  virtual void refresh() {}

  /// The last events of a rank that has come to a bad end, if it was here, and those of ranks here that waited for it:
  /// lines, empty when there are none, or when they come later by an upcall of their own.
  virtual std::string last_events(int rank) = 0;
};

}  // namespace rmq::launch
