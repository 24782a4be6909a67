// SPDX-License-Identifier: BSD-3-Clause
// Events of the tools interface: those of base/record/trace.def, as the recorder sees them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/trace.hpp"
#include "mpi/tool/tool.hpp"

namespace rmq::mpi::tool {

/// An element of an event's data: where MPI_T_event_copy puts it, and what MPI_T_event_read gives.
struct EventElement {
  std::string_view name;
  MPI_Datatype type;
  MPI_Aint at;  // bytes
};

/// What MPI_T_event_copy fills. Of `a0` and `a1` and of the packet only what the event has.
struct EventData {
  int peer, method;  // world rank, -1 where none; number of the method, 0 where none
  std::uint64_t a0, a1;
  int packet, source, tag;  // PacketKind; rank in the communicator and tag where the packet has them
};
std::vector<EventElement> elements_of(const EventKind& kind);
EventData data_of(const TraceRecord& record);

/// "rmq_packet_sent".
std::string event_name(const EventKind& kind);

/// MPI_T_finalize by the last user.
void end_event_handles();

}  // namespace rmq::mpi::tool
