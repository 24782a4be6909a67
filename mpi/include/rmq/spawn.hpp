// Processes that come to a running program: MPI_Comm_spawn_multiple with an environment for all and for each, places
// for input and output, signals, and a vector of what they return. What the seeds call the enhanced form, of which a
// launcher can be a client. Header only, C++17; rmq_spawn.h says what each call does.
//
//   rmq::Spawn spawn;
//   spawn.program("./worker", {"--fast"}, 4).env("MODE", "a").env_of(2, "MODE", "b").output("worker.%r.log");
//   rmq::SpawnedWorld workers = spawn.start(MPI_COMM_WORLD);
//   ... workers.comm() ...
//   workers.disconnect();
//   std::vector<int> codes = workers.wait();
#pragma once

#include <mpi.h>
#include <rmq_spawn.h>

#include <string>
#include <utility>
#include <vector>

namespace rmq {

/// The world that has been started. Copies mean the same world.
class SpawnedWorld {
 public:
  SpawnedWorld(MPI_Comm comm, std::vector<int> started) : comm_(comm), started_(std::move(started)) {
    char name[RMQ_JOB_NAME] = "";
    if (comm != MPI_COMM_NULL && rmq_spawned_job(comm, name) == MPI_SUCCESS) job_ = name;
  }
  /// The inter-communicator with it; the program's to end.
  MPI_Comm comm() const { return comm_; }
  /// Name of its job; the launcher knows it by that.
  const std::string& job() const { return job_; }
  /// MPI_SUCCESS, or why there is no such process, for each that was asked for; of the root alone.
  const std::vector<int>& started() const { return started_; }

  /// Sends a signal to all its processes. An MPI error class.
  int signal(int number) const { return rmq_signal_job(job_.c_str(), number); }
  /// MPI_Comm_disconnect: both sides do so, and are independent then.
  void disconnect() { MPI_Comm_disconnect(&comm_); }
  /// Until all have ended: exit codes by rank, 128 + signal for those that one has ended. Once; empty: it is not known.
  std::vector<int> wait() const {
    constexpr int kFirst = 256;
    std::vector<int> codes(kFirst);
    int count = 0;
    if (rmq_await_job(job_.c_str(), kFirst, codes.data(), &count) != MPI_SUCCESS) count = 0;
    codes.resize(static_cast<std::size_t>(count < kFirst ? count : kFirst));
    return codes;
  }

 private:
  MPI_Comm comm_;
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
    /// Files, FIFOs or pipes; %r is the rank.
    Program& input(const std::string& path) { return set("rmq_stdin", path); }
    Program& output(const std::string& path) { return set("rmq_stdout", path); }
    Program& errors(const std::string& path) { return set("rmq_stderr", path); }
    /// A pipe of this process's: its end for writing, which stays open at least until start() returns.
    Program& output_to(int fd) { return output(pipe_path(fd)); }
    Program& errors_to(int fd) { return errors(pipe_path(fd)); }
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
    Program& add(const std::string& key, const std::string& line) {
      for (auto& [name, text] : keys_)
        if (name == key) return text += "\n" + line, *this;
      keys_.emplace_back(key, line);
      return *this;
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
    std::vector<char*> commands;
    std::vector<std::vector<char*>> words;
    std::vector<char**> argvs;
    std::vector<int> counts;
    std::vector<MPI_Info> infos;
    int all = 0;
    for (Program& p : programs_) {
      commands.push_back(p.command_.data());
      auto& line = words.emplace_back();
      for (std::string& word : p.arguments_) line.push_back(word.data());
      line.push_back(nullptr);
      counts.push_back(p.processes_);
      all += p.processes_;
      MPI_Info_create(&infos.emplace_back());
      for (const auto& [key, value] : p.keys_) MPI_Info_set(infos.back(), key.c_str(), value.c_str());
    }
    for (auto& line : words) argvs.push_back(line.data());
    MPI_Comm made = MPI_COMM_NULL;
    std::vector<int> started(static_cast<std::size_t>(all) + 1);
    MPI_Comm_spawn_multiple(static_cast<int>(programs_.size()), commands.data(), argvs.data(), counts.data(),
                            infos.data(), root, comm, &made, started.data());
    started.pop_back();
    for (MPI_Info& info : infos) MPI_Info_free(&info);
    return {made, std::move(started)};
  }

 private:
  std::vector<Program> programs_;
};

}  // namespace rmq
