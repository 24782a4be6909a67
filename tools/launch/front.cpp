#include "tools/launch/front.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tools/launch/debug.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/signals.hpp"

namespace rmq::launch {

namespace {

// Waits for the keeper to end and passes on what we are sent; its wait status.
int attend(pid_t keeper) {
  const sigset_t handled = launcher_signals();
  while (true) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&handled, &info);
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(keeper, &status, WNOHANG) == keeper) return status;
    } else if (signal > 0 && signal != SIGPIPE) {
      // The keeper has had signals of the terminal from the terminal.
      if (info.si_code != SI_KERNEL) ::kill(keeper, signal);
      if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);  // so that the shell sees its job stopped
    }
  }
}

}  // namespace

int run_kept(const std::function<int(UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask)>& keep,
             int of_keeper) {
  const sigset_t ranks_mask = block_launcher_signals();
  auto leash = Pipe::create(), table = Pipe::create();
  if (!leash || !table) {
    std::fprintf(stderr, "rmqrun: %s\n", (leash ? table : leash).error().what.c_str());
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
    ::prctl(PR_SET_NAME, "rmqkeeper");  // pkill rmqrun shall meet the front, which the keeper survives long enough
    ::_exit(keep(std::move(leash->reader), std::move(table->writer), ranks_mask));
  }
  leash->reader.reset();
  table->writer.reset();
  if (of_keeper >= 0) ::close(of_keeper);
  publish_ranks(table->reader.get());
  const int status = attend(keeper);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  kill_descendants();
  std::fprintf(stderr, "rmqrun: its server process was killed by %s; all ranks were ended\n",
               signal_name(WTERMSIG(status)).c_str());
  return 128 + WTERMSIG(status);
}

}  // namespace rmq::launch
