// What the rank tells about itself when it is asked: report.cpp.
#pragma once

#include "engine/ft/failures.hpp"
#include "engine/life/runtime.hpp"

namespace rmq::mpi {

/// From now on. At the end of MPI_Init.
void start_reports();

/// The MPI function under way is a collective of this communicator, which all members have to call in the same order.
/// Fails when it has been revoked. `bytes`: what all have to agree on; `root`: -1 without.
inline void note_collective(Comm& c, std::uint64_t bytes = 0, int root = -1) {
  ft::check_not_revoked(c);
  const adi::Device& device = *runtime().device;
  c.called[c.calls++ % c.called.size()] = {device.call_name(), device.call_kind(), bytes, root};
}

}  // namespace rmq::mpi
