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

/// `loopback`: all ranks are on this machine. `tickets`: boot::ticket_bytes for each of `size` ranks. The process is
/// nobody's child when this returns. Errc::config: there is no rmqboot beside this library; Errc::system.
Result<ServerProcess> start_server(int size, const std::string& job, bool loopback, const std::string& tickets);

}  // namespace rmq::pmi
