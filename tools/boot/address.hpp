// SPDX-License-Identifier: BSD-3-Clause
// How ranks on other machines reach rmqboot's connection server: a listener, and its addresses as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "start/boot_wire.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

struct Listener {
  UniqueFd socket;
  std::string addresses;  // "PORT IP IP …", numeric, in the order in which to try them
};

/// Listens on a free port: on the loopback device only, or on all IPv4 and IPv6 interfaces.
Result<Listener> listen_for_ranks(bool loopback_only);

/// The next frame of a connection that the loop has found readable; nothing while it is incomplete. An error when it is
/// malformed or the connection has ended.
Result<std::optional<boot::Frame>> receive_frame(int socket, boot::FrameReader& reader);

}  // namespace rmq::launch
