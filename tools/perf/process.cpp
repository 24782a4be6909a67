// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>

#include "tools/process/fd.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::perf {

Result<Output> run(const Command& command, std::chrono::seconds timeout) {
  using Clock = std::chrono::steady_clock;
  const std::string name = fmt::format("{}", fmt::join(command.words, " "));
  launch::adopt_orphans();
  auto pipe = launch::Pipe::create();
  if (!pipe) return tl::unexpected(pipe.error());
  launch::SpawnPlan plan;
  plan.arguments = command.words;
  plan.environment = launch::Environment::inherited();
  for (const auto& [variable, value] : command.variables) plan.environment.set(variable, value);
  plan.output = pipe->writer.get();
  const auto start = Clock::now();
  const auto pid = launch::spawn(plan);
  if (!pid) return tl::unexpected(pid.error());
  pipe->writer.reset();
  Output output;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + timeout - Clock::now());
    if (left.count() <= 0 || !launch::wait_for(pipe->reader.get(), POLLIN, left)) {
      launch::kill_descendants();
      return fail(Errc::system, fmt::format("'{}' did not end within {} s", name, timeout.count()));
    }
  } while (launch::read_some(pipe->reader.get(), output.text));
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (WIFSIGNALED(status))
    return fail(Errc::system, fmt::format("'{}' was ended by signal {}", name, WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return fail(Errc::system, fmt::format("'{}' ended with code {}", name, WEXITSTATUS(status)));
  return output;
}

}  // namespace rmq::perf
