// SPDX-License-Identifier: BSD-3-Clause
// rmqboot-mpich and rmqboot-openmpi: start as a process of the host's MPI, end as a rank of RMQ.
//
//   all     MPI_Init; who is where (MPI_Allgather of host identities)
//   rank 0  starts the connection server (rmqboot --serve) and makes job id, secret and a ticket for each rank
//   all     learn them (MPI_Bcast, MPI_Scatter), connect to the server and show their ticket
//   all     MPI_Finalize, then become the program, with the connected socket and the variables of
//   start/bootstrap_env.hpp
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "start/boot_join.hpp"
#include "start/boot_wire.hpp"
#include "start/bootstrap_env.hpp"
#include "tools/boot/address.hpp"
#include "tools/boot/host_mpi.h"
#include "tools/boot/minder.hpp"
#include "tools/boot/server.hpp"
#include "tools/launch/env.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/printable.hpp"
#include "tools/process/spawn.hpp"

namespace {

using namespace rmq::launch;
using rmq::Errc;
using rmq::Error;
using rmq::fail;
using rmq::fail_errno;
using rmq::JobInfo;
using rmq::Result;
using std::string;
namespace boot = rmq::boot;

constexpr std::size_t identity_bytes = 256;

// What rank 0 tells all others; plain bytes on the host's MPI, between processes of one binary.
struct Announcement {
  char addresses[4096];
  char job[24];
  std::byte secret[32];
};

void copy_text(std::span<char> to, const string& from) {
  const std::size_t length = std::min(from.size(), to.size() - 1);
  std::memcpy(to.data(), from.data(), length);
  to[length] = '\0';
}

Result<void> require(int refused, const char* what) {
  if (refused == 0) return {};
  return fail(Errc::system, fmt::format("the host's MPI failed in {}", what));
}

// Host of each rank.
Result<rmq::Hosts> place_ranks(int size) {
  std::array<char, identity_bytes> mine{};
  copy_text(mine, boot::host_identity());
  std::vector<char> all(static_cast<std::size_t>(size) * identity_bytes);
  if (auto good = require(boot_mpi_allgather(mine.data(), all.data(), identity_bytes), "MPI_Allgather"); !good)
    return tl::make_unexpected(good.error());
  std::vector<string> identities;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank)
    identities.emplace_back(all.data() + rank * identity_bytes);
  return boot::number_hosts(identities);
}

// Starts the server process and hands it the tickets and the table of hosts. The leash, the writing end of its stdin,
// stays open in this process until it becomes the program.
Result<void> start_server(const Listener& listener, const JobInfo& job, const string& tickets) {
  auto leash = Pipe::create();
  if (!leash) return tl::unexpected(leash.error());
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  sigset_t none;
  sigemptyset(&none);
  SpawnPlan plan;
  plan.program = install_prefix(2) + "/bin/rmqboot";
  plan.arguments = {"rmqboot", serve_option, std::to_string(listener.socket.get()), std::to_string(job.size), job.job};
  plan.environment = Environment::inherited();
  plan.input = leash->reader.get();
  plan.output = nowhere.get();  // a copy of our stdout would keep the host's launcher waiting
  plan.keep = {listener.socket.get()};
  plan.signal_mask = &none;
  plan.die_with_parent = false;
  const auto pid = spawn(plan);
  if (!pid) return tl::make_unexpected(pid.error());
  ::waitpid(*pid, nullptr, 0);  // it forks, so that the server is nobody's child
  const string hosts = boot::format_hosts(job.host_of_rank) + '\n';
  if (!write_all(leash->writer.get(), tickets) || !write_all(leash->writer.get(), hosts))
    return fail_errno("the connection server does not take its tickets");
  leash->writer.release();  // closes on exec
  return {};
}

struct Joined {
  JobInfo job;
  UniqueFd socket, control;  // of the rank, of its minder
};

Result<Joined> join_job(const boot_mpi_world& world) {
  Joined out;
  JobInfo& job = out.job;
  job = boot::singleton_job();
  job.rank = world.rank;
  job.size = world.size;
  job.app_num = world.app_num;
  job.universe_size = std::max(world.universe_size, world.size);
  auto hosts = place_ranks(world.size);
  if (!hosts) return tl::make_unexpected(hosts.error());
  job.host_of_rank = std::move(*hosts);
  boot::place_on_host(job);

  Announcement news{};
  string tickets;
  if (world.rank == 0) {
    const bool one_machine = job.host_of_rank.count(0, world.size) == world.size;
    const auto listener = listen_for_ranks(one_machine);
    if (!listener) return tl::make_unexpected(listener.error());
    tickets.resize(static_cast<std::size_t>(world.size) * boot::ticket_bytes);
    boot::fill_random(std::as_writable_bytes(std::span(tickets)));
    if (auto started = start_server(*listener, job, tickets); !started) return tl::make_unexpected(started.error());
    copy_text(news.addresses, listener->addresses);
    copy_text(news.job, job.job);
    std::copy(job.secret.begin(), job.secret.end(), news.secret);
  }
  if (auto good = require(boot_mpi_bcast(&news, sizeof news), "MPI_Bcast"); !good)
    return tl::make_unexpected(good.error());
  job.job = news.job;
  std::copy(std::begin(news.secret), std::end(news.secret), job.secret.begin());
  std::array<char, boot::ticket_bytes> ticket{};
  if (auto good = require(boot_mpi_scatter(tickets.data(), ticket.data(), boot::ticket_bytes), "MPI_Scatter"); !good)
    return tl::make_unexpected(good.error());
  const std::string_view mine(ticket.data(), ticket.size());
  auto socket = boot::join_server(news.addresses, boot::FrameKind::join, world.rank, mine);
  if (!socket) return tl::make_unexpected(socket.error());
  auto control = boot::join_server(news.addresses, boot::FrameKind::mind, world.rank, mine);
  if (!control) return tl::make_unexpected(control.error());
  out.socket = std::move(*socket);
  out.control = std::move(*control);
  return out;
}

// Becomes the rank's minder; returns only when that fails.
Error become_minder(const Options& options, const Joined& joined, const sigset_t& signal_mask) {
  const App& app = options.apps[0];
  JobInfo job = joined.job;
  const int allotted = job.universe_size > job.size ? job.universe_size : 0;
  job.universe_size = boot::universe_size(options.universe_size > 0 ? options.universe_size : allotted, job.size);
  Environment environment = job_environment(options, app, job, install_prefix(2));
  environment.unset_matching(is_foreign_launcher_variable);
  environment.set("RMQ_WISHES", "none");
  set_rank(environment,
           {joined.job.rank, joined.job.app_num, joined.socket.get(), joined.job.host_name, joined.job.host_size, 0});
  const auto file = find_program(app.command[0], environment.get("PATH"), app.folder);
  if (!file) return file.error();
  if (!app.folder.empty() && ::chdir(app.folder.c_str()) != 0) return fail_errno(app.folder).value();

  // Nothing of the host's MPI goes on: neither its descriptors nor its signal mask.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::fcntl(joined.socket.get(), F_SETFD, 0);
  ::fcntl(joined.control.get(), F_SETFD, 0);
  ::sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
  const string minder = install_prefix(2) + "/bin/rmqboot";
  std::vector<string> words = {"rmqboot", mind_option, std::to_string(joined.control.get()),
                               std::to_string(joined.socket.get()), *file};
  words.insert(words.end(), app.command.begin(), app.command.end());
  execute(minder, words, environment);
  return fail_errno(minder).value();
}

Result<Options> read_options(int argc, char** argv) {
  auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)}, {});
  if (!options) return options;
  if (options->ft)
    return fail(Errc::argument, "--ft needs rmqrun as the launcher: the host's MPI ends its job when a process dies");
  if (options->apps.size() != 1 || options->apps[0].ranks_given || options->host_of_rank.back() != 0 ||
      !options->hosts.empty() || options->timeout || options->tag_output || options->binding.to ||
      options->hang_after || options->pmi)
    return fail(Errc::argument,
                "number, sections, hosts, binding, labels and time limit of the ranks are mpiexec's business; rmqboot "
                "takes --method, --trace, -x, --wdir and --usize. For --hang-after: rmqps, on the machine of rank 0");
  return options;
}

int complain(const string& what, int code) {
  std::fprintf(stderr, "rmqboot: %s\n", printable(what).c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  if (!options) return complain(options.error().what, exit_usage);
  if (!options->trace.empty()) {
    std::error_code ignored;  // who cannot write there says so when it does
    std::filesystem::create_directories(options->trace, ignored);
  }
  sigset_t signal_mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &signal_mask);

  boot_mpi_world world{};
  if (boot_mpi_init(&world) != 0) return complain("the host's MPI does not start", exit_cannot_start);
  auto joined = join_job(world);
  if (!joined) {
    complain(fmt::format("rank {}: {}", world.rank, joined.error().what), exit_cannot_start);
    boot_mpi_abort(exit_cannot_start);
    return exit_cannot_start;
  }
  if (boot_mpi_finalize() != 0) return complain("the host's MPI failed in MPI_Finalize", exit_cannot_start);
  const Error error = become_minder(*options, *joined, signal_mask);
  return complain(fmt::format("rank {} cannot start its program: {}", world.rank, error.what), exit_cannot_start);
}
