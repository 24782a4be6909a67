// SPDX-License-Identifier: BSD-3-Clause
#include "start/bootstrap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/os/children.hpp"
#include "start/bootstrap_env.hpp"
#include "start/bootstrap_server.hpp"
#include "start/bootstrap_single.hpp"
#include "start/pmi.hpp"
#include "start/pmi_start.hpp"

namespace rmq {

namespace {

// The rank is this process from now on: what it starts is no part of the job and need not be able to speak for it. The
// text is wiped too, as /proc shows it to whoever may debug us, and core dumps keep it.
void hide_secret() {
  if (char* text = std::getenv("RMQ_SECRET")) ::explicit_bzero(text, std::strlen(text));
  ::unsetenv("RMQ_SECRET");
}

Result<void> check_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM) return {};
  return fail(
      Errc::config,
      fmt::format("RMQ_SERVER names file descriptor {}, which is no socket of the connection server: a wrapper between "
                  "rmqrun and the program has closed it, or an MPI program was started from within a rank; let the "
                  "wrapper keep its descriptors, and start MPI programs with rmqrun",
                  fd));
}

// Under a launcher that is not ours, which has started this program itself.
Result<std::unique_ptr<Bootstrap>> start_under(std::unique_ptr<pmi::Launcher> launcher) {
  auto started = pmi::start_job(*launcher);
  if (!started) return tl::make_unexpected(started.error());
  for (const int fd : {started->rank.server_fd, launcher->descriptor(), started->leash.get()})
    if (fd >= 0) os::keep_from_children(fd);
  auto server = std::make_unique<boot::ServerBootstrap>(std::move(started->rank.job), started->rank.server_fd, false,
                                                        std::move(launcher));
  if (auto sent = server->hello(); !sent) return tl::make_unexpected(sent.error());
  auto hosts = pmi::agree_on_hosts(*server);
  if (!hosts) return tl::make_unexpected(hosts.error());
  server->place(std::move(*hosts));
  return server;
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> connect_bootstrap() {
  const auto get = [](const char* name) { return static_cast<const char*>(std::getenv(name)); };
  if (get("RMQ_SERVER") == nullptr) {
    auto launcher = pmi::find_launcher(get);
    if (!launcher) return tl::make_unexpected(launcher.error());
    if (*launcher) return start_under(std::move(*launcher));
    if (auto foreign = boot::foreign_launcher(get)) return fail(Errc::config, std::move(*foreign));
    return std::make_unique<boot::SingletonBootstrap>();
  }
  auto rank = boot::read_launched_rank(get);
  if (!rank) return tl::make_unexpected(rank.error());
  if (auto good = check_socket(rank->server_fd); !good) return tl::make_unexpected(good.error());
  hide_secret();
  // Programs that the rank starts are no part of the job and must not keep its socket open.
  ::fcntl(rank->server_fd, F_SETFD, FD_CLOEXEC);
  os::keep_from_children(rank->server_fd);
  if (rank->job.flight_fd >= 0) ::fcntl(rank->job.flight_fd, F_SETFD, FD_CLOEXEC);
  auto server = std::make_unique<boot::ServerBootstrap>(std::move(rank->job), rank->server_fd, rank->grants);
  if (auto sent = server->hello(); !sent) {
    // The second program of a script that is a rank: what was alone is alone.
    if (sent.error().code == Errc::argument && server->job().size == 1)
      return std::make_unique<boot::SingletonBootstrap>();
    return tl::make_unexpected(sent.error());
  }
  if (rank->hosts > 1)
    if (auto placed = server->fetch_hosts(); !placed) return tl::make_unexpected(placed.error());
  return server;
}

}  // namespace rmq
