// SPDX-License-Identifier: BSD-3-Clause
// The environment through which a launcher tells a rank who it is, written by tools/launch/env.cpp and read here.
//
//   RMQ_SERVER           fd:N, the inherited socket to the connection server; its presence makes the process a rank
//   RMQ_JOB              id of the job, 16 hex digits
//   RMQ_RANK, RMQ_SIZE   world rank and number of ranks
//   RMQ_HOSTS            number of hosts; with several, each rank asks the server which rank is where (fetch_hosts)
//   RMQ_SECRET           the job's key, 64 hex digits. Handed on by whatever the launcher starts (a shell, a debugger);
//   the
//                        process that calls MPI_Init takes it out, as what a rank starts is no part of the job
//
// Optional:
//
//   RMQ_APPNUM, RMQ_UNIVERSE_SIZE   MPMD section, MPI_UNIVERSE_SIZE
//   RMQ_HOST_NAME        name of a pretended host
//   RMQ_MACHINE_SIZE     ranks on this machine, those of other pretended hosts included; without it, those of this host
//   RMQ_MACHINE_CPUS     CPUs that these may use together, however each of them is bound
//   RMQ_FT               1: the job goes on when a rank dies (--ft)
//   RMQ_WISHES           none: the server starts the job and does nothing more (rmqboot); a rank that wants other
//                        processes starts a launcher of its own (start/launcher.hpp)
//   RMQ_FLIGHT_MEMORY    FD:INODE:OFFSET: an inherited file in memory, and the place of this rank's flight recorder
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "start/bootstrap.hpp"

namespace rmq::boot {

/// Looks up one variable; nullptr where it is not set.
using GetEnv = std::function<const char*(const char* name)>;

/// What the variables say: the job and the inherited socket. Errc::config names the variable that makes no sense.
struct LaunchedRank {
  JobInfo job;
  int server_fd = -1;
  bool grants = true;  // the server does more than to start the job
  int hosts = 1;       // with several, `job` has all ranks on one until their hosts have been fetched
};

/// The value of RMQ_FLIGHT_MEMORY for an open file, empty when it is none; and back into `job`, which stays without a
/// flight recorder unless the descriptor still is that file: a wrapper may have closed it.
std::string format_flight(int fd, std::uint64_t offset);
void find_flight(const char* text, JobInfo& job);
Result<LaunchedRank> read_launched_rank(const GetEnv& get);

/// The message for a process that a foreign launcher started as one of several; nothing when there is none.
std::optional<std::string> foreign_launcher(const GetEnv& get);

/// "0*2,1*2", which is INDEX*COUNT for each run of ranks, with a '~' behind where the runs repeat until all ranks have
/// theirs; and back. Errc::config unless the entries are exactly `size` and number the hosts without a gap.
std::string format_hosts(const Hosts& hosts);
Result<Hosts> parse_hosts(std::string_view text, int size);

/// Numbers hosts in the order in which their names (of each rank, in rank order) first appear.
Hosts number_hosts(std::span<const std::string> identities);
/// That text as values for the board of a job of several hosts, and the key of each: what fetch_hosts() gets. The first
/// begins with their number and ';'.
std::vector<std::string> host_table(const Hosts& hosts);
std::string host_table_key(std::size_t part);
/// Waits for it. Errc::peer_lost when the job ends meanwhile.
Result<Hosts> fetch_hosts(Bootstrap& bootstrap);

/// Fills host_rank and host_size from rank and host_of_rank, and takes no other host to be on this machine.
void place_on_host(JobInfo& job);

/// Hex digits of bytes, and back; false unless `text` is exactly twice as long as `out` and all hex.
std::string to_hex(std::span<const std::byte> bytes);
bool from_hex(std::string_view text, std::span<std::byte> out);

/// Fills `out` from the kernel's random numbers.
void fill_random(std::span<std::byte> out);

/// This machine's name.
std::string host_name();

/// MPI_UNIVERSE_SIZE of a job of `size` ranks: what has been asked for; where that is 0, as many as there are CPUs, or
/// as many again as the job has, which share them: waiting costs nothing here.
int universe_size(int asked, int size);

/// A fresh job of one rank with its own id and secret.
JobInfo singleton_job();

}  // namespace rmq::boot
