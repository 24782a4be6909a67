// SPDX-License-Identifier: BSD-3-Clause
#include "tools/boot/minder.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "start/boot_wire.hpp"
#include "start/exit.hpp"
#include "start/launcher.hpp"
#include "tools/boot/address.hpp"
#include "tools/launch/flight.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/loop.hpp"
#include "tools/process/printable.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

namespace {

constexpr std::chrono::milliseconds end_grace{300};      // for a rank that hears of the end itself
constexpr std::chrono::milliseconds report_grace{2000};  // for a server that is busy

// Launchers that the rank has started for what it spawned (start/launcher.hpp): they have lost their parent on purpose.
std::set<pid_t> launchers() {
  std::set<pid_t> all;
  for (const pid_t pid : descendants()) {
    if (process_stat(pid).parent != ::getpid()) continue;
    std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
    std::string name, option;
    if (std::getline(file, name, '\0') && std::getline(file, option, '\0') && option == boot::guest_option)
      all.insert(pid);
  }
  return all;
}

class Minder {
 public:
  Minder(EventLoop& loop, MindedRank rank) : loop_(loop), rank_(std::move(rank)) {}

  int run() {
    const sigset_t ranks_mask = block_launcher_signals();
    const auto signals = receive_signals(loop_, [this](const signalfd_siginfo& info) { on_signal(info); });
    adopt_orphans();
    loop_.watch(rank_.control.get(), EPOLLIN, [this](std::uint32_t) { on_control(); });
    if (const auto started = signals ? start(ranks_mask) : tl::unexpected(signals.error()); !started) {
      std::fprintf(stderr, "rmqboot: cannot start the program: %s\n", printable(started.error().what).c_str());
      return exit_cannot_start;
    }
    loop_.run();
    kill_descendants();
    if (rank_is_gone_ && WIFSIGNALED(status_)) die_of(WTERMSIG(status_));
    if (ended_by_server_) return *ended_by_server_;
    return WEXITSTATUS(status_);
  }

 private:
  Result<void> start(const sigset_t& ranks_mask) {
    SpawnPlan plan;
    plan.program = rank_.file;
    plan.arguments = rank_.command;
    plan.environment = Environment::inherited();
    plan.keep = {rank_.socket.get(), flight_.descriptor()};
    if (flight_.descriptor() >= 0) plan.environment.set("RMQ_FLIGHT_MEMORY", flight_.variable(0));
    plan.signal_mask = &ranks_mask;
    const auto pid = spawn(plan);
    if (!pid) return tl::make_unexpected(pid.error());
    pid_ = *pid;
    rank_.socket.reset();  // its end is to be the rank's
    return {};
  }

  void on_signal(const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      reap_children([this](pid_t pid, int status) {
        if (pid == pid_) on_rank_exit(status);
        if (awaited_.erase(pid) > 0 && awaited_.empty()) loop_.stop();
      });
    } else if (!awaited_.empty() && is_deadly(signal)) {
      loop_.stop();
    } else if (signal != SIGPIPE && info.ssi_code != SI_KERNEL && !rank_is_gone_) {
      ::kill(pid_, signal);
    }
  }

  void on_rank_exit(int status) {
    status_ = status;
    rank_is_gone_ = true;
    if (ended_by_server_) return loop_.stop();
    const std::string report = boot::encode_code(boot::FrameKind::died, status, rank_.command[0]);
    ::send(rank_.control.get(), report.data(), report.size(), MSG_NOSIGNAL | MSG_DONTWAIT);  // 1 KB fits any buffer
    // It has not left properly; the memory is this rank's alone.
    if (const auto view = flight_.view(0); status != 0 && view && !view->finished())
      std::fputs(printable(flight_.report_death(0, -1)).c_str(), stderr);
    // Host launchers kill everything, the server too, as soon as they see a failure: so not before the server has named
    // the culprit, or has said by its end that this is none.
    loop_.after(report_grace, [this] { leave(); });
  }

  // All has been said. A rank that has left properly may have others behind it that have not: worlds that it has
  // started, which are in MPI_Finalize with ranks that live, or are none of its any more.
  void leave() {
    if (!awaited_.empty()) return;
    loop_.forget(rank_.control.get());
    if (status_ == 0) awaited_ = launchers();
    if (awaited_.empty()) loop_.stop();
  }

  void on_control() {
    auto frame = receive_frame(rank_.control.get(), reader_);
    for (; frame && *frame; frame = reader_.next()) {
      if ((*frame)->kind == boot::FrameKind::end) return end(static_cast<int>(boot::BodyReader((*frame)->body).u32()));
      if ((*frame)->kind == boot::FrameKind::look) {
        const std::string answer = boot::encode(boot::FrameKind::leaving, !rank_is_gone_ && is_ending(pid_) ? "1" : "");
        ::send(rank_.control.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
    if (!frame) rank_is_gone_ ? leave() : end(1);  // the server is gone, or has no more to say
  }

  void end(int code) {
    loop_.forget(rank_.control.get());
    ended_by_server_ = boot::status_of(code);
    if (rank_is_gone_) return loop_.stop();
    loop_.after(end_grace, [this] { loop_.stop(); });
  }

  // Ends this process by the same signal, for the host launcher to see; the rank has left the core dump already.
  static void die_of(int signal) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(signal, SIG_DFL);
    sigset_t mask;
    sigemptyset(&mask);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::raise(signal);
  }

  EventLoop& loop_;
  MindedRank rank_;
  FlightMemory flight_{1};
  boot::FrameReader reader_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool rank_is_gone_ = false;
  std::set<pid_t> awaited_;             // launchers that this process waits for, and for nothing else
  std::optional<int> ended_by_server_;  // the job's exit code
};

}  // namespace

int mind_rank(MindedRank rank) {
  auto loop = EventLoop::create();
  if (!loop) return exit_cannot_start;
  return Minder(**loop, std::move(rank)).run();
}

}  // namespace rmq::launch
