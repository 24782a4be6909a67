// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/local.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "base/os/cpus.hpp"
#include "tools/launch/debug.hpp"
#include "tools/launch/env.hpp"
#include "tools/process/elf.hpp"
#include "tools/process/reap.hpp"

namespace rmq::launch {

namespace {

// Whether a process was started by a rank of this job, or by what one has started.
bool has_job_in_environment(pid_t pid, const std::string& job) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid));
  const std::string wanted = "RMQ_JOB=" + job;
  for (std::string text; std::getline(file, text, '\0');)
    if (text == wanted) return true;
  return false;
}

}  // namespace

LocalStarter::LocalStarter(Household& household, const JobPlan& plan, int host, std::string label, Upcalls& upcalls,
                           Serve serve)
    : household_(household),
      plan_(plan),
      host_(host),
      label_(std::move(label)),
      upcalls_(upcalls),
      serve_(std::move(serve)),
      flight_(host < 0 ? plan.job.size : plan.job.host_of_rank.count(host, plan.job.size)) {
  ++household_.jobs;
  if (host >= 0)
    for (int rank = 0; rank < plan.job.size; ++rank)
      if (is_here(rank)) numbers_.push_back(rank);
  ranks_.resize(host < 0 ? static_cast<std::size_t>(plan.job.size) : numbers_.size());
  if (plan.pmi)
    pmi_ = std::make_unique<PmiBoard>(household.loop, plan.job,
                                      [this](const std::string& what) { household_.output.say("rmqrun: " + what); });
}

LocalStarter::~LocalStarter() {
  --household_.jobs;
  for (Rank& rank : ranks_) {
    free_place(rank);
    household_.children.forget(rank.pid);
    if (rank.mpi_process.is_open()) household_.loop.forget(rank.mpi_process.get());
  }
}

std::size_t LocalStarter::place(int rank) const {
  if (host_ < 0) return static_cast<std::size_t>(rank);
  return static_cast<std::size_t>(std::ranges::lower_bound(numbers_, rank) - numbers_.begin());
}

// ---- start ---------------------------------------------------------------------------------------------------------

namespace {

// Each of its processes would take itself for a whole job of one rank.
Result<void> check_library(const std::string& folder, const std::string& program) {
  const std::string library =
      of_open_mpi(needed_libraries(folder.empty() || program.starts_with('/') ? program : folder + "/" + program));
  if (library.empty()) return {};
  return fail(Errc::argument,
              fmt::format("{} was compiled with Open MPI (it needs {}), whose programs rmqrun does not start: compile "
                          "it with rmqcc, rmqcxx or rmqfort, or start it with Open MPI's mpirun",
                          program, library));
}

}  // namespace

Result<void> LocalStarter::start() {
  no_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (auto places = find_places(plan_.binding, allowed_cpus()); places) {
    places_ = *std::move(places);
  } else {
    return tl::make_unexpected(places.error());
  }
  int first = 0, app_num = 0;
  for (const Section& section : plan_.sections) {
    SpawnPlan common;
    for (int rank = first; rank < first + section.ranks; ++rank) {
      if (!is_here(rank)) continue;
      if (common.program.empty()) {
        auto file = find_program(section.command[0], section.environment.get("PATH"), section.folder);
        if (file && !pmi_)
          if (auto fits = check_library(section.folder, *file); !fits) file = tl::make_unexpected(fits.error());
        if (!file) return fail(Errc::argument, fmt::format("cannot start rank {}: {}", rank, file.error().what));
        common.program = std::move(*file);
        common.arguments = section.command;
        common.environment = section.environment;
        common.folder = section.folder;
        common.signal_mask = &household_.signal_mask;
        common.ignore_quit = true;
        common.open_files = household_.users_limit;
      }
      if (auto started = start_rank(rank, app_num, common); !started) return started;
    }
    first += section.ranks;
    ++app_num;
  }
  return {};
}

Result<void> LocalStarter::start_rank(int rank, int app_num, const SpawnPlan& common) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail_errno(fmt::format("no socket for rank {} (see ulimit -n)", rank));
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  if (pmi_) {
    auto lines = pmi_->translate(rank, app_num, std::move(theirs));
    if (!lines) return tl::make_unexpected(lines.error());
    theirs = std::move(*lines);
  }
  const bool asks = rank == 0 && plan_.takes_input;
  const auto ends = household_.output.connect(fmt::format("{}{}", label_, rank), plan_.job.size, asks);
  if (!ends) return fail(Errc::system, fmt::format("for the output of rank {}: {}", rank, ends.error().what));

  const int host = plan_.job.host_of_rank[rank];
  const std::size_t slot = place(rank);
  SpawnPlan plan = common;
  if (pmi_)
    set_pmi_rank(plan.environment, {rank, plan_.job.size, theirs.get(), plan_.job.host_of_rank.count(host, rank),
                                    plan_.job.host_of_rank.count(host, plan_.job.size)});
  else
    set_rank(plan.environment, {rank, app_num, theirs.get(), plan_.hosts[static_cast<std::size_t>(host)],
                                plan_.ranks_on_machine(host), os::allowed_cpus()});
  plan.input = rank == 0 && plan_.takes_input ? input_ : no_input_.get();
  plan.output = ends->output.get();
  plan.error = ends->error.get();
  UniqueFd input, output, error;
  if (const auto extras = plan_.extras.find(rank); extras != plan_.extras.end()) {
    const Extras& own = extras->second;
    for (const auto& [name, value] : own.environment) plan.environment.set(name, value);
    const auto open = [&](const std::string& path, int flags, UniqueFd& fd, int& to) -> Result<void> {
      if (path.empty()) return {};
      // A FIFO that nobody has open at its other end would keep the launcher, and all its jobs, waiting.
      fd.reset(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
      if (!fd.is_open())
        return fail_errno(fmt::format("cannot start rank {}: cannot open '{}' for it{}", rank, path,
                                      errno == ENXIO ? " (a FIFO has to be open for reading before)" : ""));
      ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
      to = fd.get();
      return {};
    };
    constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;
    if (auto ok = open(own.input, O_RDONLY, input, plan.input); !ok) return ok;
    if (auto ok = open(own.output, kAppend, output, plan.output); !ok) return ok;
    if (auto ok = open(own.error, kAppend, error, plan.error); !ok) return ok;
  }
  plan.keep = {theirs.get(), flight_.descriptor()};
  if (flight_.descriptor() >= 0) plan.environment.set("RMQ_FLIGHT_MEMORY", flight_.variable(static_cast<int>(slot)));
  Rank& entry = ranks_[slot];
  if (!places_.empty()) plan.cpus = entry.cpus = take_place();
  if (plan_.binding.report)
    household_.output.say(
        fmt::format("rmqrun: rank {}{} on {} {}", label_, rank, plan_.hosts[static_cast<std::size_t>(host)],
                    plan.cpus.empty() ? "is not bound" : "is bound to CPUs " + format_cpus(plan.cpus)));
  serve_(rank, std::move(ours));  // before the rank can send: the kernel signs only what is sent from then on
  const auto pid = spawn(plan);
  if (!pid) {
    free_place(entry);
    return fail(Errc::system, fmt::format("cannot start rank {}: {}", rank, pid.error().what));
  }
  processes_ += debug_entry(*pid, plan_.pretended ? plan_.job.host_name : plan_.hosts[static_cast<std::size_t>(host)],
                            plan.program);
  entry.pid = *pid;
  entry.alive = true;
  entry.output = ends->stream;
  entry.program = common.arguments[0];
  household_.children.add(*pid, this, [this, rank](int status) { on_exit(rank, status); });
  return {};
}

// The first of those that the fewest ranks have, of other jobs as well: what is spawned does not share its parent's
// while another is free.
CpuSet LocalStarter::take_place() {
  const auto least = std::ranges::min_element(places_, {}, [this](const CpuSet& cpus) {
    const auto found = household_.bound.find(cpus);
    return found == household_.bound.end() ? 0 : found->second;
  });
  ++household_.bound[*least];
  return *least;
}

void LocalStarter::free_place(Rank& rank) {
  if (!rank.cpus.empty()) --household_.bound[std::exchange(rank.cpus, {})];
}

// ---- signals -------------------------------------------------------------------------------------------------------

void LocalStarter::signal(int signal, bool from_terminal) {
  if (from_terminal) return;  // which has sent it to the ranks as well
  for (const Rank& rank : ranks_)
    if (rank.alive) household_.children.kill(rank.pid, signal);
}

// Also the process that is in MPI, where that is another one.
void LocalStarter::kill_one(int rank) {
  const Rank& entry = rank_of(rank);
  if (!entry.alive) return;
  if (entry.mpi_process.is_open()) ::syscall(SYS_pidfd_send_signal, entry.mpi_process.get(), SIGKILL, nullptr, 0);
  household_.children.kill(entry.pid, SIGKILL);
}

void LocalStarter::prod(int rank) {
  const Rank& entry = rank_of(rank);
  const ProcessFacts now = facts(rank);
  if (!now.alive || now.state == "stopped") return;
  if (entry.mpi_process.is_open())
    ::syscall(SYS_pidfd_send_signal, entry.mpi_process.get(), SIGURG, nullptr, 0);
  else if (now.pid == entry.pid)
    household_.children.kill(entry.pid, SIGURG);
}

// Which children of this process belong to the job: its ranks, and what has lost its parent.
std::function<bool(pid_t child)> LocalStarter::is_of_job() const {
  return [this](pid_t child) {
    if (household_.children.has(child)) return household_.children.owner_of(child) == this;
    return household_.jobs <= 1 || has_job_in_environment(child, plan_.job.job);
  };
}

void LocalStarter::end(int spared) {
  const pid_t spare = spared >= 0 && is_here(spared) ? rank_of(spared).pid : 0;
  signal_descendants(SIGTERM, spare, is_of_job());
}

void LocalStarter::kill() {
  kill_descendants(is_of_job());
  for (Rank& rank : ranks_) {
    household_.children.forget(rank.pid);
    rank.alive = false;
    free_place(rank);
  }
}

// ---- ends ----------------------------------------------------------------------------------------------------------

void LocalStarter::drain_output(int rank) {
  household_.output.drain(rank_of(rank).output);
}

void LocalStarter::drain_output() {
  for (const Rank& rank : ranks_) household_.output.drain(rank.output);
}

void LocalStarter::on_exit(int rank, int status) {
  if (pmi_) pmi_->drain(rank);
  drain_output(rank);
  rank_of(rank).alive = false;
  free_place(rank_of(rank));
  upcalls_.on_exit(rank, status);
}

// The socket of a wrapped MPI program (sh -c './prog; …') stays open in the wrapper, so its end would go unnoticed.
void LocalStarter::on_join(int rank, pid_t pid) {
  Rank& entry = rank_of(rank);
  if (pmi_) return;  // the frames come from this process
  entry.mpi_pid = pid;
  if (pid == 0 || pid == entry.pid) return;
  entry.mpi_process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!entry.mpi_process.is_open()) {
    if (errno == ESRCH) upcalls_.on_mpi_end(rank);  // it has died already; else the kernel is older than 5.3
    return;
  }
  household_.loop.watch(entry.mpi_process.get(), EPOLLIN, [this, rank](std::uint32_t) { on_mpi_process_end(rank); });
}

void LocalStarter::on_mpi_process_end(int rank) {
  Rank& entry = rank_of(rank);
  household_.loop.forget(entry.mpi_process.get());
  entry.mpi_process.reset();
  upcalls_.on_mpi_end(rank);
}

bool LocalStarter::is_ending(int rank) {
  const Rank& entry = rank_of(rank);
  return entry.alive && launch::is_ending(entry.mpi_pid != 0 ? entry.mpi_pid : entry.pid);
}

ProcessFacts LocalStarter::facts(int rank) const {
  const Rank& r = rank_of(rank);
  const pid_t pid = r.mpi_pid > 0 ? r.mpi_pid : r.pid;
  return {r.program, pid, r.alive, r.alive ? process_state(pid) : "gone", ""};
}

std::string LocalStarter::last_events(int rank) {
  return flight_.report_death(is_here(rank) ? static_cast<int>(place(rank)) : -1, rank);
}

}  // namespace rmq::launch
