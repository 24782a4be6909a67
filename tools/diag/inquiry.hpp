// SPDX-License-Identifier: BSD-3-Clause
// Asks every rank of a job what it is doing, over the sockets of the connection server, and gathers the answers with
// what the launcher itself knows of each rank's process.
//
// A rank whose call waits answers at once. One that has not answered after a while is asked by a signal as well
// (engine/life/report.cpp), and once more if its answer is short because it was inside of MPI. What has not answered
// when time is up is described by the state of its process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/launch/server.hpp"
#include "tools/launch/starter.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Inquiry {
 public:
  using Facts = std::function<ProcessFacts(int rank)>;
  /// `job`: {"job", "ranks": [{"rank", "program", "pid", "process", "host", "mpi", "report"}]}; design/diagnosis.md has
  /// the fields.
  using Done = std::function<void(const nlohmann::json& job)>;

  /// Reminds a rank that is not in MPI.
  using Prod = std::function<void(int rank)>;

  Inquiry(EventLoop& loop, Server& server, std::string job, int size, Facts facts, Prod prod);
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  /// Asks; `done` is called from the event loop, at the latest when patience is at its end. One that is under way
  /// serves all callers.
  void ask(Done done, std::chrono::milliseconds patience = std::chrono::milliseconds(1500));
  /// An answer has come (Server::Upcalls).
  void on_answer(int rank, std::uint32_t number, std::string_view text);

 private:
  struct Answer {
    std::string text;
    bool full = false;
  };
  bool is_asked(int rank) const;
  bool all_answered() const;
  void send_signals();
  void conclude();

  Timers timers_;
  Server& server_;
  const std::string job_;
  const Facts facts_;
  const Prod prod_rank_;
  std::vector<Answer> answers_;  // by rank
  std::vector<Done> waiting_;
  EventLoop::TimerId deadline_, prod_;
  std::uint32_t number_ = 0;  // of the question under way, or the last one; even numbers are HangWatch's
};

}  // namespace rmq::launch
