// SPDX-License-Identifier: BSD-3-Clause
// The dissector for Wireshark and tshark, made from base/packet/packet.def.
#pragma once

#include <string>

namespace rmq::trace {

/// The Lua script: what the method tcp sends, and what rmqtrace pcap writes, packet by packet and field by field.
std::string lua_dissector();

}  // namespace rmq::trace
