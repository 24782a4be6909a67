// SPDX-License-Identifier: BSD-3-Clause
// The start of a job under a launcher that is not ours (start/pmi.hpp), in the program itself: rank 0 starts the
// connection server, a process of its own (rmqboot, found beside this library), and tells all where it listens and a
// key of 32 bytes. From the key come the ticket of each rank (start/boot_ticket.hpp) and the secret of the job.
//
// Who can read the value is in the job, or may be: the launcher's processes, the ranks, and whoever reads the network
// between the launcher's processes where they do not encrypt. It is as secret as what the launcher says to start
// programs, and holds nothing that the ranks do not all know anyway.
#pragma once

#include <memory>

#include "base/os/fd.hpp"
#include "start/bootstrap.hpp"
#include "start/bootstrap_env.hpp"
#include "start/pmi.hpp"

namespace rmq::pmi {

struct Started {
  boot::LaunchedRank rank;  // all but the hosts; its socket is the caller's
  os::UniqueFd leash;       // rank 0: the server ends when this does, until all ranks have come
};

/// Collective; after 10 s of waiting for other ranks it says so on stderr. Errc::peer_lost, Errc::system, Errc::config:
/// the launcher is to end the job then.
Result<Started> start_job(Launcher& launcher);

/// Which host each rank is on, from what each says of its own; collective, over the connection server.
Result<Hosts> agree_on_hosts(Bootstrap& bootstrap);

/// What rank 0 spreads, and back. Addresses that do not fit in max_value are left out, the last first. Errc::protocol.
struct Announcement {
  std::string job;        // 16 hex digits
  std::string key;        // 64 hex digits
  std::string addresses;  // "PORT IP IP …"
};
std::string format_announcement(const Announcement& news);
Result<Announcement> parse_announcement(std::string_view text);

/// 32 bytes that only the key's owners know: a rank's ticket, the job's secret.
std::string derive(std::string_view key, std::string_view what);

}  // namespace rmq::pmi
