// SPDX-License-Identifier: BSD-3-Clause
// What the events of the tools interface carry.
#include <cstddef>
#include <cstring>

#include "mpi/tool/tool_events.hpp"

namespace rmq::mpi::tool {

std::string event_name(const EventKind& kind) {
  return "rmq_" + std::string(kind.name);
}

std::vector<EventElement> elements_of(const EventKind& kind) {
  std::vector<EventElement> all{{"peer", MPI_INT, offsetof(EventData, peer)},
                                {"method", MPI_INT, offsetof(EventData, method)}};
  if (!kind.a0.empty()) all.push_back({kind.a0, MPI_UINT64_T, offsetof(EventData, a0)});
  if (!kind.a1.empty()) all.push_back({kind.a1, MPI_UINT64_T, offsetof(EventData, a1)});
  if (kind.carries_packet) {
    all.push_back({"packet", MPI_INT, offsetof(EventData, packet)});
    all.push_back({"source", MPI_INT, offsetof(EventData, source)});
    all.push_back({"tag", MPI_INT, offsetof(EventData, tag)});
  }
  return all;
}

EventData data_of(const TraceRecord& record) {
  const auto& header = *reinterpret_cast<const HeaderFields*>(record.packet);
  return {record.peer, record.method, record.a0, record.a1, static_cast<int>(header.kind), header.source, header.tag};
}

}  // namespace rmq::mpi::tool
