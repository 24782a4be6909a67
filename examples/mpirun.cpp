// SPDX-License-Identifier: BSD-3-Clause
// An mpirun that is an MPI program: what it starts, it starts by rmq/spawn.hpp, as any program may. It gives each
// process an environment of its own, labels what they print, passes signals on, tells how each ends, and returns the
// first code that is not 0.
//
//   mpirun [-n N] program [argument]... [: [-n N] program ...]
#include <mpi.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rmq/spawn.hpp>
#include <string>
#include <vector>

namespace {

struct App {
  int processes = 1;
  std::vector<std::string> words;
};

std::vector<App> read_apps(int argc, char** argv) {
  std::vector<App> apps(1);
  for (int i = 1; i < argc; ++i) {
    App& app = apps.back();
    if (std::strcmp(argv[i], ":") == 0) {
      apps.emplace_back();
    } else if (app.words.empty() && std::strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
      app.processes = std::atoi(argv[++i]);
    } else {
      app.words.emplace_back(argv[i]);
    }
  }
  return apps;
}

// What a process prints comes by a pipe, and leaves in whole lines with its rank.
struct Output {
  int fd;
  int rank;
  std::string line;

  void take(const char* bytes, long count) {
    line.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1))
      std::printf("[%d] %.*s\n", rank, static_cast<int>(end), line.c_str());
  }
};

// Everything that is there at this moment.
void pass_on(std::vector<Output>& outputs) {
  std::vector<pollfd> fds;
  for (const Output& o : outputs) fds.push_back({o.fd, POLLIN, 0});
  while (::poll(fds.data(), fds.size(), 0) > 0) {
    bool any = false;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      char bytes[4096];
      const long got = (fds[i].revents & POLLIN) != 0 ? ::read(fds[i].fd, bytes, sizeof bytes) : 0;
      if (got > 0) outputs[i].take(bytes, got), any = true;
    }
    if (!any) break;
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

  MPI_Init(&argc, &argv);
  rmq::Spawn spawn;
  std::vector<Output> outputs;
  std::vector<int> writers;
  for (const App& app : read_apps(argc, argv)) {
    if (app.words.empty() || app.processes < 1) {
      std::fprintf(stderr, "Usage: mpirun [-n N] program [argument]... [: [-n N] program ...]\n");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    auto& program = spawn.program(app.words[0], {app.words.begin() + 1, app.words.end()}, app.processes);
    program.env("MPIRUN", "examples/mpirun");
    for (int i = 0; i < app.processes; ++i) {
      int ends[2];
      if (::pipe(ends) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
      program.env_of(i, "MPIRUN_RANK", std::to_string(outputs.size()))
          .output_of_to(i, ends[1])
          .errors_of_to(i, ends[1]);
      outputs.push_back({ends[0], static_cast<int>(outputs.size()), {}});
      writers.push_back(ends[1]);
    }
  }
  rmq::SpawnedWorld world = spawn.start_apart();
  for (const int fd : writers) ::close(fd);

  for (rmq::JobEvent event{}; event.kind != RMQ_EVENT_OVER;) {
    event = world.next(20);
    for (signalfd_siginfo info; ::read(signal_fd, &info, sizeof info) == static_cast<long>(sizeof info);)
      world.signal(static_cast<int>(info.ssi_signo));
    pass_on(outputs);
    if (event.kind == RMQ_EVENT_ENDED && event.code != 0)
      std::fprintf(stderr, "mpirun: rank %d has ended with code %d\n", event.rank, event.code);
  }
  for (Output& o : outputs)
    if (!o.line.empty()) o.take("\n", 1);
  int result = 0;
  for (const int code : world.wait())
    if (result == 0) result = code;
  MPI_Finalize();
  return result;
}
