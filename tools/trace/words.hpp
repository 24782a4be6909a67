// SPDX-License-Identifier: BSD-3-Clause
// The names that records stand for: MPI functions, events, kinds of packets. For readers that look up millions of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/packet/packet.hpp"
#include "base/record/trace.hpp"

namespace rmq::trace {

/// The name of the MPI function with this call_id(), as "MPI_Recv"; empty for 0, "MPI_?" for an unknown one.
std::string_view call_name(std::uint32_t id);

/// Whether a call of it takes part in a collective operation and waits for that.
bool is_collective(std::string_view call);

/// What trace.def says of an event; nullptr: it has no such event.
const EventKind* kind_of(Event event);

/// "shm", "tcp" …; empty for none.
std::string_view method_word(std::uint8_t method);

}  // namespace rmq::trace
