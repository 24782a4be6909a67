// SPDX-License-Identifier: BSD-3-Clause
// The connection server's process, started from inside of a program that is a rank.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/os/fd.hpp"

namespace rmq::pmi {

struct ServerProcess {
  std::string addresses;  // "PORT IP IP …"
  os::UniqueFd leash;
};

/// `loopback`: all ranks are on this machine. `tickets`: boot::ticket_bytes for each of `size` ranks. `launcher`: a
/// PMI-1 connection to the launcher, which the server gets a copy of; -1: none. The process is nobody's child when this
/// returns. Errc::config: there is no rmqboot beside this library; Errc::system.
struct ServerTask {
  int size;
  std::string job;
  bool loopback;
  std::string tickets;
  int launcher = -1;
};
Result<ServerProcess> start_server(const ServerTask& task);

/// The first word of rmqboot's arguments as this server: rmqboot --serve-started SIZE JOB loopback|all LAUNCHER. Its
/// stdin and stdout are one socket: tickets in, "PORT IP …\n" out. LAUNCHER: the descriptor, or -1.
inline constexpr const char* serve_started_option = "--serve-started";
inline constexpr int server_launcher_fd = 3;

}  // namespace rmq::pmi
