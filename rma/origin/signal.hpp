// SPDX-License-Identifier: BSD-3-Clause
// What members tell each other in active target: that one has posted, has completed, or has come to a round of a
// barrier.
//
// Between members that share their controls a signal is a word there; else it is a packet, RMA_SYNC, behind the
// operations. What travels is a count, so a repeated signal does no harm and nothing is reset.
#pragma once

#include <cstdint>

#include "base/packet/packet.hpp"
#include "rma/core/window_core.hpp"
#include "rma/origin/sender.hpp"

namespace rmq::rma {

/// What a signal is about; the numbers travel.
enum class Signal : std::uint32_t { post = 1, complete = 2, fence = 3 };

/// Tells a member: by a store where both share their controls, else by a packet. `round`: of the barrier; 0 else.
void signal(const WindowCore& core, int rank, Signal what, std::uint32_t round, std::uint32_t count);

/// RMA_SYNC has come; operations that waited for a post leave. False when it signals nothing that there is.
bool signalled(WindowCore& core, const Sender& sender, int from, const Packet& p);

}  // namespace rmq::rma
