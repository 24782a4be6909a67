// A trace as an OTF2 archive, for the tools of high-performance computing (Vampir, Scalasca, otf2-print). Needs
// libotf2.
#pragma once

#include <string>

#include "base/error.hpp"
#include "tools/trace/file.hpp"

namespace rmq::trace {

/// Writes the archive `folder`/rmq.otf2, which must not be there yet: a location for each rank; each packet is an
/// MpiSend and an MpiRecv of the communicator "packets" with its kind's number as the tag and its kind and message
/// number as attributes; sleeps are regions. Errc::system with what libotf2 says.
Result<void> otf2(const Trace& trace, const std::string& folder);

}  // namespace rmq::trace
