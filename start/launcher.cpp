// SPDX-License-Identifier: BSD-3-Clause
#include "start/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/os/children.hpp"
#include "base/os/program.hpp"

namespace rmq::boot {
namespace {

constexpr unsigned kCloseOnExec = 1u << 2;  // CLOSE_RANGE_CLOEXEC, Linux 5.11

bool can_run(const std::string& file) {
  return ::access(file.c_str(), X_OK) == 0;
}

// What the user has named, what belongs to this library, or what the user's PATH has.
std::string find() {
  if (const char* named = std::getenv("RMQ_LAUNCHER")) return named;
  static const int anchor = 0;
  if (const std::string beside = os::program_beside(&anchor, "rmqrun"); !beside.empty()) return beside;
  std::string rest = std::getenv("PATH") ? std::getenv("PATH") : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = rest.substr(0, colon) + "/rmqrun";
    // What the working folder has is nobody's choice.
    if (file.starts_with('/') && can_run(file)) return file;
    rest.erase(0, std::min(colon + 1, rest.size()));
  }
  return {};
}

}  // namespace

Result<int> start_launcher(const JobInfo& job) {
  const std::string program = find();
  if (program.empty())
    return fail(Errc::argument,
                "this program has no launcher, and rmqrun is neither beside the library (in folders where nobody but "
                "root and the library's owner may write) nor in PATH: start it with rmqrun, or set RMQ_LAUNCHER to "
                "where that is");
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return fail_errno("no socket for a launcher (see ulimit -n)");
  const std::string fd = std::to_string(sockets[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    // Its parent is not this process, which may wait for children of its own.
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    // What the program has open is none of the launcher's: a pipe would not end.
    ::syscall(SYS_close_range, 3u, ~0u, kCloseOnExec);
    ::fcntl(sockets[1], F_SETFD, 0);
    ::execl(program.c_str(), "rmqrun", guest_option, fd.c_str(), job.job.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(sockets[1]);
  if (child < 0) {
    ::close(sockets[0]);
    return fail_errno("cannot fork for a launcher");
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  os::keep_from_children(sockets[0]);
  return sockets[0];
}

}  // namespace rmq::boot
