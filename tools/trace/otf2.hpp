// SPDX-License-Identifier: BSD-3-Clause
// A trace as an OTF2 archive, for the tools of high-performance computing (Vampir, Scalasca, otf2-print). Needs
// libotf2.
#pragma once

#include <string>

#include "base/error.hpp"
#include "tools/trace/reader.hpp"

namespace rmq::trace {

/// Writes the archive `folder`/rmq.otf2, which must not be there yet: a location for each rank, with
///   regions      the MPI calls, and "sleep"
///   messages     MpiSend and MpiRecv in a communicator for each context, with their tag and length
///   collectives  around what the call sent and received in packets; a call that needed none has no bytes
///   windows      operations, locks and synchronisation
/// and all other packets as messages of the communicator "packets", whose tag is the number of the packet's kind. Each
/// message has its kind and number as attributes. A trace does not know the members of communicators: all ranks stand
/// in each, under their world ranks. Errc::system with what libotf2 says.
Result<void> otf2(Reader& reader, const Slice& slice, const std::string& folder);

}  // namespace rmq::trace
