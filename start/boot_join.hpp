// SPDX-License-Identifier: BSD-3-Clause
// The way into a job whose connection server is reached over TCP, for a rank and for its minder.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/fd.hpp"
#include "start/boot_wire.hpp"

namespace rmq::boot {

/// Connects to one of `addresses` (waiting at most 5 s for each) and shows that it knows the ticket of `rank`. The
/// socket is then the connection of the rank (`role` join) or of its minder (mind) to the server; it closes on exec
/// until told otherwise. Errc::peer_lost names all addresses tried.
Result<os::UniqueFd> join_server(std::string_view addresses, FrameKind role, int rank, std::string_view ticket);

/// What two processes must have in common to share memory: machine, host name and namespaces, as one text.
std::string host_identity();

}  // namespace rmq::boot
