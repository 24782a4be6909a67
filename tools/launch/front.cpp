#include "tools/launch/front.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "tools/launch/debug.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

// Waits for the keeper to end, passes on what we are sent, and makes debuggers the table of the ranks when it has come;
// the keeper's wait status.
int attend(EventLoop& loop, pid_t keeper, int leash, int table) {
  int status = 0;
  std::string ranks;
  loop.watch(table, EPOLLIN, [&](std::uint32_t) {
    if (read_some(table, ranks)) return;
    loop.forget(table);
    publish_ranks(std::move(ranks));
  });
  const auto signals = receive_signals(loop, [&](const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      if (::waitpid(keeper, &status, WNOHANG) == keeper) loop.stop();
    } else if (signal != SIGPIPE) {
      // The keeper has had signals of the terminal from the terminal. A signal of ours would be lost in one that it has
      // not read yet and that somebody has sent to our whole process group: it gets a byte.
      const char byte = static_cast<char>(signal);
      if (info.ssi_code != SI_KERNEL) static_cast<void>(::write(leash, &byte, 1));
      if (signal == SIGCONT) ::kill(keeper, signal);       // it may have been stopped
      if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);  // so that the shell sees its job stopped
    }
  });
  if (!signals) {
    std::fprintf(stderr, "rmqrun: %s\n", signals.error().what.c_str());
    ::kill(keeper, SIGKILL);
    ::waitpid(keeper, &status, 0);
    return status;
  }
  loop.run();
  return status;
}

}  // namespace

void obey_front(EventLoop& loop, int leash, std::function<void(int signal)> on_signal) {
  loop.watch(leash, EPOLLIN, [leash, on_signal = std::move(on_signal)](std::uint32_t) {
    char signal = 0;
    const ssize_t got = ::read(leash, &signal, 1);
    if (got == 1) return on_signal(signal);
    if (got < 0 && errno == EINTR) return;
    kill_descendants();
    ::_exit(128 + SIGKILL);
  });
}

int run_kept(const std::function<int(UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask)>& keep,
             int of_keeper) {
  const sigset_t ranks_mask = block_launcher_signals();
  auto leash = Pipe::create(), table = Pipe::create();
  if (!leash || !table) {
    std::fprintf(stderr, "rmqrun: %s\n", (leash ? table : leash).error().what.c_str());
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
    leash->writer.reset();
    table->reader.reset();
    loop->reset();
    ::prctl(PR_SET_NAME, "rmqkeeper");  // pkill rmqrun shall meet the front, which the keeper survives long enough
    ::_exit(keep(std::move(leash->reader), std::move(table->writer), ranks_mask));
  }
  leash->reader.reset();
  table->writer.reset();
  if (of_keeper >= 0) ::close(of_keeper);
  ::fcntl(leash->writer.get(), F_SETFL, O_NONBLOCK);  // a keeper that stands still is not to hold us up
  const int status = attend(**loop, keeper, leash->writer.get(), table->reader.get());
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  kill_descendants();
  std::fprintf(stderr, "rmqrun: its server process was killed by %s; all ranks were ended\n",
               signal_name(WTERMSIG(status)).c_str());
  return 128 + WTERMSIG(status);
}

}  // namespace rmq::launch
