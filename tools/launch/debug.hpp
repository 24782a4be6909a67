// SPDX-License-Identifier: BSD-3-Clause
// What a debugger of parallel programs wants of the process that the user has started (the MPIR process acquisition
// interface): the table of all ranks' processes, and a function to stop in when it is there.
//
//   debugger sets MPIR_being_debugged, runs rmqrun, stops in MPIR_Breakpoint, reads MPIR_proctable, attaches to each
//   process, sets MPIR_debug_gate there (with MPIR_being_debugged set, ranks wait for that at the end of MPI_Init)
//
// A debugger that comes later finds the table all the same.
#pragma once

#include <string>
#include <string_view>

namespace rmq::launch {

/// One rank's line of the table, as the keeper sends it to the front.
std::string debug_entry(int pid, std::string_view host, std::string_view program);

/// In the front: makes the table of these lines, and stops where a debugger wants to.
void publish_ranks(std::string lines);

/// Whether a debugger has started this process.
bool is_debugged();

}  // namespace rmq::launch
