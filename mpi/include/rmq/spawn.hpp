// SPDX-License-Identifier: BSD-3-Clause
// Processes that come to a running program: MPI_Comm_spawn_multiple with an environment for all and for each, places
// for input and output, signals, and a vector of what they return. A launcher can be a client of it. Header only,
// C++17; rmq_spawn.h says what each call does.
//
//   rmq::Spawn spawn;
//   spawn.program("./worker", {"--fast"}, 4).env("MODE", "a").env_of(2, "MODE", "b").output("worker.%r.log");
//   rmq::SpawnedWorld workers = spawn.start(MPI_COMM_WORLD);
//   ... workers.comm() ...
//   workers.disconnect();
//   std::vector<int> codes = workers.wait([](const rmq::JobEvent& e) { ... });
//
// examples/mpirun.cpp is a launcher that stands on this.
#pragma once

#include <mpi.h>
#include <rmq_spawn.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rmq {

/// What has happened to a job: the end of a process, with its code or 128 + the signal that has ended it; or of all.
using JobEvent = rmq_event;

/// The world that has been started. Copies mean the same world, but each reads its events from the beginning.
class SpawnedWorld {
 public:
  SpawnedWorld(MPI_Comm comm, std::vector<int> started) : comm_(comm), started_(std::move(started)) {
    char name[RMQ_JOB_NAME] = "";
    if (comm == MPI_COMM_NULL || rmq_spawned_job(comm, name) != MPI_SUCCESS) return;
    job_ = name;
    MPI_Comm_remote_size(comm, &size_);
  }
  SpawnedWorld(std::string job, int size) : size_(size), job_(std::move(job)) {}
  /// The inter-communicator with it; the program's to end. MPI_COMM_NULL when it was started apart.
  MPI_Comm comm() const { return comm_; }
  /// Name of its job; the launcher knows it by that.
  const std::string& job() const { return job_; }
  /// MPI_SUCCESS, or why there is no such process, for each that was asked for; of the root alone.
  const std::vector<int>& started() const { return started_; }

  /// Sends a signal to all its processes. An MPI error class.
  int signal(int number) const { return rmq_signal_job(job_.c_str(), number); }
  /// MPI_Comm_disconnect: both sides do so, and are independent then.
  void disconnect() { MPI_Comm_disconnect(&comm_); }
  /// The next thing that happens to it, waited for so long at most (negative: without end): then it is RMQ_EVENT_NONE.
  /// Behind RMQ_EVENT_OVER there is nothing.
  JobEvent next(int milliseconds = -1) {
    JobEvent event{RMQ_EVENT_OVER, -1, 0};
    if (rmq_next_event(job_.c_str(), seen_, milliseconds, &event) != MPI_SUCCESS) return {RMQ_EVENT_OVER, -1, 0};
    if (event.kind == RMQ_EVENT_ENDED) ++seen_;
    return event;
  }
  /// Until all have ended: exit codes by rank, 128 + signal for those that one has ended. Once; empty: it is not known.
  /// `on_event` hears of each that has not been told yet, as it happens.
  std::vector<int> wait(const std::function<void(const JobEvent&)>& on_event = {}) {
    for (JobEvent e; on_event && (e = next()).kind != RMQ_EVENT_OVER;) on_event(e);
    std::vector<int> codes(static_cast<std::size_t>(size_));
    int count = 0;
    if (rmq_await_job(job_.c_str(), size_, codes.data(), &count) != MPI_SUCCESS) count = 0;
    codes.resize(static_cast<std::size_t>(count < size_ ? count : size_));
    return codes;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int size_ = 0;
  int seen_ = 0;  // events
  std::string job_;
  std::vector<int> started_;
};

/// What is to be started.
class Spawn {
 public:
  class Program {
   public:
    /// For all its processes.
    Program& env(const std::string& name, const std::string& value) { return add("env", name + "=" + value); }
    /// For one of them: its number among the program's.
    Program& env_of(int number, const std::string& name, const std::string& value) {
      return add("rmq_env_each", std::to_string(number) + " " + name + "=" + value);
    }
    /// Files, FIFOs or pipes; %r is the rank. With a number: for one process.
    Program& input(const std::string& path) { return set("rmq_stdin", path); }
    Program& output(const std::string& path) { return set("rmq_stdout", path); }
    Program& errors(const std::string& path) { return set("rmq_stderr", path); }
    Program& input_of(int number, const std::string& path) { return add_path("rmq_stdin_each", number, path); }
    Program& output_of(int number, const std::string& path) { return add_path("rmq_stdout_each", number, path); }
    Program& errors_of(int number, const std::string& path) { return add_path("rmq_stderr_each", number, path); }
    /// A pipe of this process's: its end for writing, which stays open at least until start() returns.
    Program& output_to(int fd) { return output(pipe_path(fd)); }
    Program& errors_to(int fd) { return errors(pipe_path(fd)); }
    Program& output_of_to(int number, int fd) { return output_of(number, pipe_path(fd)); }
    Program& errors_of_to(int number, int fd) { return errors_of(number, pipe_path(fd)); }
    /// Any other info key.
    Program& set(const std::string& key, const std::string& value) {
      for (auto& [name, text] : keys_)
        if (name == key) return text = value, *this;
      keys_.emplace_back(key, value);
      return *this;
    }

   private:
    friend class Spawn;
    Program(std::string command, std::vector<std::string> arguments, int processes)
        : command_(std::move(command)), arguments_(std::move(arguments)), processes_(processes) {}
    /// A line more; one of several lines goes on behind a blank each.
    Program& add(const std::string& key, std::string line) {
      for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos; at += 2) line.insert(at + 1, " ");
      for (auto& [name, text] : keys_)
        if (name == key) return text += "\n" + line, *this;
      keys_.emplace_back(key, line);
      return *this;
    }
    Program& add_path(const std::string& key, int number, const std::string& path) {
      return add(key, std::to_string(number) + " " + path);
    }
    /// What one value has no room for goes on in more.
    MPI_Info info() const {
      constexpr std::size_t kRoom = MPI_MAX_INFO_VAL - 1;
      MPI_Info made;
      MPI_Info_create(&made);
      for (const auto& [key, value] : keys_)
        for (std::size_t part = 0; part == 0 || part * kRoom < value.size(); ++part) {
          const std::string name = part == 0 ? key : key + "." + std::to_string(part);
          MPI_Info_set(made, name.c_str(), value.substr(part * kRoom, kRoom).c_str());
        }
      return made;
    }
    static std::string pipe_path(int fd) {
      char path[64];
      return rmq_pipe_path(fd, path, sizeof path) == MPI_SUCCESS ? path : "";
    }
    std::string command_;
    std::vector<std::string> arguments_;
    int processes_;
    std::vector<std::pair<std::string, std::string>> keys_;
  };

  /// One more program. The reference is good until the next call.
  Program& program(std::string command, std::vector<std::string> arguments, int processes) {
    programs_.push_back(Program(std::move(command), std::move(arguments), processes));
    return programs_.back();
  }

  /// Collective over `comm`; what the root says counts. Errors go to the handler of `comm`.
  SpawnedWorld start(MPI_Comm comm, int root = 0) {
    Arguments with(programs_);
    MPI_Comm made = MPI_COMM_NULL;
    std::vector<int> started(static_cast<std::size_t>(with.all) + 1);
    MPI_Comm_spawn_multiple(with.count(), with.commands.data(), with.argvs.data(), with.counts.data(),
                            with.infos.data(), root, comm, &made, started.data());
    started.pop_back();
    return {made, std::move(started)};
  }

  /// Without a communicator: for programs of any kind, and for who only looks after them. Local. Errors go to the
  /// handler of MPI_COMM_SELF; where that returns, job() of what comes is empty.
  SpawnedWorld start_apart() {
    Arguments with(programs_);
    char job[RMQ_JOB_NAME] = "";
    rmq_start_job(with.count(), with.commands.data(), with.argvs.data(), with.counts.data(), with.infos.data(), job);
    return {std::string(job), with.all};
  }

 private:
  /// As MPI_Comm_spawn_multiple wants them.
  struct Arguments {
    explicit Arguments(std::vector<Program>& programs) {
      for (Program& p : programs) {
        commands.push_back(p.command_.data());
        auto& line = words.emplace_back();
        for (std::string& word : p.arguments_) line.push_back(word.data());
        line.push_back(nullptr);
        counts.push_back(p.processes_);
        all += p.processes_;
        infos.push_back(p.info());
      }
      for (auto& line : words) argvs.push_back(line.data());
    }
    ~Arguments() {
      for (MPI_Info& info : infos) MPI_Info_free(&info);
    }
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;
    int count() const { return static_cast<int>(commands.size()); }

    std::vector<char*> commands;
    std::vector<std::vector<char*>> words;
    std::vector<char**> argvs;
    std::vector<int> counts;
    std::vector<MPI_Info> infos;
    int all = 0;
  };

  std::vector<Program> programs_;
};

}  // namespace rmq
