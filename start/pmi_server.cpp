// SPDX-License-Identifier: BSD-3-Clause
#include "start/pmi_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "base/os/program.hpp"

namespace rmq::pmi {

namespace {

constexpr std::chrono::seconds server_time{30};

std::string find_server() {
  static const int anchor = 0;
  const std::string beside = os::program_beside(&anchor, "rmqboot");
  return beside.empty() ? RMQ_INSTALLED_BOOT : beside;
}

// SIGPIPE is the program's own affair.
bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Empty for one that is too long for addresses.
std::string read_line(int socket) {
  constexpr std::size_t kMost = 64 * 1024;
  std::string line;
  std::array<char, 1024> chunk;
  while (!line.ends_with('\n')) {
    if (line.size() > kMost) return {};
    if (!os::wait_for(socket, POLLIN, server_time)) return {};
    const ssize_t got = ::recv(socket, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    line.append(chunk.data(), static_cast<std::size_t>(got));
  }
  line.pop_back();
  return line;
}

// With the signals as a program expects them, away from this program's terminal and process group.
int spawn_server(const std::string& file, char* const* arguments, int socket, int launcher, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  if (launcher >= 0) ::posix_spawn_file_actions_adddup2(&files, launcher, server_launcher_fd);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  const int error = ::posix_spawn(&pid, file.c_str(), &files, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

Result<ServerProcess> start_server(const ServerTask& task) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("no socket for the connection server (see ulimit -n)");
  ServerProcess out{{}, os::UniqueFd(ends[0])};
  os::UniqueFd theirs(ends[1]);
  const std::string file = find_server();
  std::array<std::string, 6> words = {"rmqboot",
                                      serve_started_option,
                                      std::to_string(task.size),
                                      task.job,
                                      task.loopback ? "loopback" : "all",
                                      std::to_string(task.launcher < 0 ? -1 : server_launcher_fd)};
  std::array<char*, 7> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t pid = 0;
  if (const int error = spawn_server(file, arguments.data(), theirs.get(), task.launcher, pid); error != 0)
    return fail(Errc::config, fmt::format("rank 0 cannot start RMQ's connection server {}: {}; it belongs into bin/ of "
                                          "the installation that the library is of",
                                          file, std::strerror(error)));
  theirs.reset();
  const bool told = send_all(out.leash.get(), task.tickets);
  out.addresses = told ? read_line(out.leash.get()) : "";
  // It forks before it serves. A program that ignores SIGCHLD has the kernel take the child.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (out.addresses.empty())
    return fail(Errc::system, fmt::format("RMQ's connection server {} has not started; what it said is above", file));
  return out;
}

}  // namespace rmq::pmi
