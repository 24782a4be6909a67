// A trace as a capture file (pcapng), for Wireshark and tshark with the dissector of rmqtrace lua.
#pragma once

#include <string>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// Before each packet of the capture, little-endian: who sent it and to whom (world ranks), and over which method.
struct CaptureHead {
  std::int32_t from, to;
  std::uint32_t method;  // MethodId
};
static_assert(sizeof(CaptureHead) == 12);
inline constexpr std::uint16_t kCaptureLinkType = 147;  // LINKTYPE_USER0

/// The whole file: an interface for each rank and method, each packet once where it was sent and once where it arrived,
/// with nanoseconds. Payloads are not in a trace; the packets say how long they were.
std::string pcap(const Trace& trace);

}  // namespace rmq::trace
