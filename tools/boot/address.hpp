// How ranks on other machines reach rmqboot's connection server: a listener, its addresses as text, and the way in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/boot_wire.hpp"
#include "base/error.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

struct Listener {
  UniqueFd socket;
  std::string addresses;  // "PORT IP IP …", numeric, in the order in which to try them
};

/// Listens on a free port: on the loopback device only, or on all IPv4 and IPv6 interfaces.
Result<Listener> listen_for_ranks(bool loopback_only);

/// Connects to one of `addresses` (waiting at most 5 s for each) and shows that it knows the ticket of `rank`. The
/// socket is then the connection of the rank (`role` join) or of its minder (mind) to the server; it closes on exec
/// until told otherwise. Errc::peer_lost names all addresses tried.
Result<UniqueFd> join_server(std::string_view addresses, boot::FrameKind role, int rank, std::string_view ticket);

/// The next frame of a connection that the loop has found readable; nothing while it is incomplete. An error when it is
/// malformed or the connection has ended.
Result<std::optional<boot::Frame>> receive_frame(int socket, boot::FrameReader& reader);

/// What two processes must have in common to share memory: machine, host name and namespaces, as one text.
std::string host_identity();

}  // namespace rmq::launch
