// SPDX-License-Identifier: BSD-3-Clause
// A trace as a capture file (pcapng), for Wireshark and tshark with the dissector of rmqtrace lua.
#pragma once

#include <map>
#include <utility>

#include "tools/trace/output.hpp"
#include "tools/trace/reader.hpp"

namespace rmq::trace {

/// Before each packet of the capture, little-endian: who sent it and to whom (world ranks), and over which method.
struct CaptureHead {
  std::int32_t from, to;
  std::uint32_t method;  // MethodId
};
static_assert(sizeof(CaptureHead) == 12);
inline constexpr std::uint16_t kCaptureLinkType = 147;  // LINKTYPE_USER0

/// The capture: an interface for each rank and method, each packet once where it was sent and once where it arrived,
/// with nanoseconds. Payloads are not in a trace; the packets say how long they were.
class Pcap {
 public:
  Pcap(const Reader& of, Output& to);
  /// False when nothing more can be written.
  bool look(const Entry& e);

 private:
  std::uint32_t interface_of(const Entry& e);

  const Reader* of_;
  Output* to_;
  std::map<int, unsigned> host_;
  std::map<std::pair<int, std::uint8_t>, std::uint32_t> interfaces_;  // rank and method: its number
};

}  // namespace rmq::trace
