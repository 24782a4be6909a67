// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/front.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/launch/debug.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

// How long the keeper may take to answer a signal that is to end the job; and then the ranks, to end by SIGTERM; and
// then the kernel, to end all by SIGKILL.
constexpr std::chrono::seconds kPatience{2};

// Waits for the keeper to end, passes on what we are sent, and makes debuggers the table of the ranks when it has come.
class Attendant {
 public:
  /// `is_ours`: of a child, whether it belongs to the job.
  Attendant(EventLoop& loop, pid_t keeper, int leash, int table, std::function<bool(pid_t child)> is_ours)
      : loop_(loop), keeper_(keeper), leash_(leash), table_(table), is_ours_(std::move(is_ours)) {}

  // The keeper's wait status; that of one which SIGKILL has ended where it could not be ended at all.
  int run() {
    loop_.watch(table_, EPOLLIN, [this](std::uint32_t) { read_table(); });
    loop_.watch(leash_, EPOLLIN, [this](std::uint32_t) { hear_keeper(); });
    const auto signals = receive_signals(loop_, [this](const signalfd_siginfo& info) { on_signal(info); });
    if (!signals) {
      std::fprintf(stderr, "rmqrun: %s\n", signals.error().what.c_str());
      ::kill(keeper_, SIGKILL);
      ::waitpid(keeper_, &status_, 0);
      return status_;
    }
    loop_.run();
    return status_;
  }

  // The signal for which this process has ended the job itself; 0: it has not.
  int ended_by() const { return step_ > 1 ? wanted_ : 0; }

 private:
  void read_table() {
    if (read_some(table_, ranks_)) return;
    loop_.forget(table_);
    publish_ranks(std::move(ranks_));
  }

  void on_signal(const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      if (::waitpid(keeper_, &status_, WNOHANG) == keeper_) loop_.stop();
      return;
    }
    if (signal == SIGPIPE) return;
    // The keeper has had signals of the terminal from the terminal; it is only asked whether it lives. A signal of ours
    // would be lost in one that it has not read yet and that somebody has sent to our whole process group: it gets a
    // byte.
    const char byte = info.ssi_code == SI_KERNEL ? '\0' : static_cast<char>(signal);
    if (::send(leash_, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) ++unanswered_;
    if (is_deadly(signal)) {
      wanted_ = signal;
      if (!timer_) timer_ = loop_.after(kPatience, [this] { escalate(); });
    }
    if (signal == SIGCONT) ::kill(keeper_, signal);      // it may have been stopped
    if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);  // so that the shell sees its job stopped
  }

  // Of a keeper that answers, the job is in good hands, whatever its ranks make of the signal.
  void hear_keeper() {
    char bytes[64];
    const ssize_t got = ::recv(leash_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) return;
    if (got == 0) return loop_.forget(leash_);  // SIGCHLD follows
    unanswered_ -= got;
    if (unanswered_ > 0 || !timer_) return;
    loop_.cancel(*timer_);
    timer_.reset();
    step_ = 0;
  }

  void escalate() {
    timer_ = loop_.after(kPatience, [this] { escalate(); });
    switch (step_++) {
      case 0:
        std::fprintf(stderr, "rmqrun: its server process stands still: all processes of the job are ended\n");
        return signal_descendants(SIGTERM, 0, is_ours_);
      case 1:
        ::kill(keeper_, SIGKILL);  // which is a child that has not been waited for
        return signal_descendants(SIGKILL, 0, is_ours_);
      default:  // it sleeps in the kernel, and dies when it wakes
        status_ = SIGKILL;
        return loop_.stop();
    }
  }

  EventLoop& loop_;
  const pid_t keeper_;
  const int leash_, table_;
  const std::function<bool(pid_t child)> is_ours_;
  std::string ranks_;
  int status_ = 0;
  long unanswered_ = 0;  // signals that the keeper has not sent back
  int wanted_ = 0;       // the last that is to end the job
  int step_ = 0;         // of the escalation
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace

void obey_front(EventLoop& loop, int leash, std::function<void(int signal)> on_signal) {
  loop.watch(leash, EPOLLIN, [leash, on_signal = std::move(on_signal)](std::uint32_t) {
    char signal = 0;
    const ssize_t got = ::recv(leash, &signal, 1, MSG_DONTWAIT);
    if (got == 1) {
      static_cast<void>(::send(leash, &signal, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
      return signal == 0 ? void() : on_signal(signal);
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    kill_descendants();
    ::_exit(128 + SIGKILL);
  });
}

int run_kept(const std::function<int(UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask)>& keep,
             int of_keeper) {
  const sigset_t ranks_mask = block_launcher_signals();
  // Of a shell that had started something before it became this program: none of the job's.
  const std::vector<pid_t> strangers = has_children() ? descendants() : std::vector<pid_t>();
  std::array<int, 2> leash{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leash.data()) != 0) {
    std::perror("rmqrun: no socket (see ulimit -n)");
    return exit_cannot_start;
  }
  UniqueFd ours(leash[0]), keepers(leash[1]);
  auto table = Pipe::create();
  if (!table) {
    std::fprintf(stderr, "rmqrun: %s\n", table.error().what.c_str());
    return exit_cannot_start;
  }
  auto loop = EventLoop::create();
  if (!loop) {
    std::fprintf(stderr, "rmqrun: %s\n", loop.error().what.c_str());
    return exit_cannot_start;
  }
  adopt_orphans();  // before there is any: the keeper may have started all ranks, and be gone, before this process goes
                    // on
  const pid_t keeper = ::fork();
  if (keeper < 0) {
    std::perror("rmqrun: cannot fork");
    return exit_cannot_start;
  }
  if (keeper == 0) {
    ours.reset();
    table->reader.reset();
    loop->reset();
    ::prctl(PR_SET_NAME, "rmqkeeper");  // pkill rmqrun shall meet the front, which the keeper survives long enough
    ::_exit(keep(std::move(keepers), std::move(table->writer), ranks_mask));
  }
  keepers.reset();
  table->writer.reset();
  if (of_keeper >= 0) ::close(of_keeper);
  const auto is_ours = [&](pid_t child) { return std::ranges::find(strangers, child) == strangers.end(); };
  Attendant attendant(**loop, keeper, ours.get(), table->reader.get(), is_ours);
  const int status = attendant.run();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  kill_descendants(is_ours);
  if (attendant.ended_by() != 0) return 128 + attendant.ended_by();
  std::fprintf(stderr, "rmqrun: its server process was killed by %s; all ranks were ended\n",
               signal_name(WTERMSIG(status)).c_str());
  return 128 + WTERMSIG(status);
}

}  // namespace rmq::launch
