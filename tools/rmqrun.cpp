// SPDX-License-Identifier: BSD-3-Clause
// rmqrun: starts an MPI job. Also the agent that it starts on other hosts. See --help, and tools/launch/front.hpp for
// its processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>

#include "start/launcher.hpp"
#include "tools/launch/agent.hpp"
#include "tools/launch/agents.hpp"
#include "tools/launch/debug.hpp"
#include "tools/launch/front.hpp"
#include "tools/launch/keeper.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/printable.hpp"

namespace {

using namespace rmq::launch;

// Descriptors 0, 1 and 2 must be taken: a pipe that landed there would be mistaken for the user's input or output.
void open_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "rmqrun: %s\n", printable(what).c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  // What start/launcher.cpp starts: --serve DESCRIPTOR JOB.
  if (arguments.size() == 3 && arguments[0] == std::string_view(rmq::boot::guest_option)) {
    Options guest;
    guest.apps.emplace_back();
    guest.host_of_rank = {0};
    const int fd = std::atoi(arguments[1]);
    return run_kept(
        [&](UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask) {
          auto loop = EventLoop::create();
          if (!loop) return complain(loop.error().what, exit_cannot_start);
          UniqueFd socket(fd);
          ::fcntl(fd, F_SETFD, FD_CLOEXEC);
          return Keeper(guest, **loop, ranks_mask, std::move(leash), std::move(table))
              .serve(std::move(socket), arguments[2]);
        },
        fd);
  }
  if (arguments.size() == 1 && std::string_view(arguments[0]) == agent_option)
    return run_kept([](UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask) {
      table.reset();
      return run_agent(std::move(leash), ranks_mask);
    });
  const auto options = parse_options(arguments, Defaults::of_environment());
  if (!options) return complain(options.error().what, exit_usage);
  if (options->action == Options::Action::help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (options->action == Options::Action::version) {
    std::puts("rmqrun (RMQ) " RMQ_VERSION);
    return 0;
  }
  for (const std::string& note : options->notes) complain(note, 0);
  if (!options->trace.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options->trace, error);
    if (error) return complain("cannot create the trace folder " + options->trace + ": " + error.message(), exit_usage);
  }
  if (is_debugged()) ::setenv("RMQ_DEBUG_GATE", "1", 1);  // the ranks wait until the debugger has them
  return run_kept([&](UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask) {
    auto loop = EventLoop::create();
    if (!loop) return complain(loop.error().what, exit_cannot_start);
    return Keeper(*options, **loop, ranks_mask, std::move(leash), std::move(table)).run();
  });
}
