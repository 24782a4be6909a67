#include "tools/perf/process.hpp"

#include <fmt/format.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace rmq::perf {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const Command& command, int out) {
  ::setpgid(0, 0);
  ::dup2(out, STDOUT_FILENO);
  for (const auto& [name, value] : command.variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& w : command.words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

Result<Output> run(const Command& command, std::chrono::seconds timeout) {
  const std::string name = fmt::format("{}", fmt::join(command.words, " "));
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  const auto start = Clock::now();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot fork");
  if (pid == 0) become(command, pipe[1]);
  ::close(pipe[1]);
  Output output;
  bool late = false;
  for (std::array<char, 4096> chunk;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(start + timeout - Clock::now());
    pollfd ready{pipe[0], POLLIN, 0};
    late = left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0;
    if (late) break;
    const ssize_t n = ::read(pipe[0], chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    output.text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  ::close(pipe[0]);
  if (late) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (late) return fail(Errc::system, fmt::format("'{}' did not end within {} s", name, timeout.count()));
  if (WIFSIGNALED(status)) return fail(Errc::system, fmt::format("'{}' was ended by signal {}", name, WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) return fail(Errc::system, fmt::format("'{}' ended with code {}", name, WEXITSTATUS(status)));
  return output;
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace rmq::perf
