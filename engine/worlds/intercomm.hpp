// SPDX-License-Identifier: BSD-3-Clause
// Inter-communicators of two groups, which may never have met before. Everything here needs the device held.
#pragma once

#include <functional>
#include <memory>

#include "engine/comm/comms.hpp"

namespace rmq::mpi {

/// How the leader of one group reaches the other one.
struct Way {
  Bridge bridge{true};
  std::unique_ptr<Line> line;  // that of the bridge
};
/// An inter-communicator of `local` with the group whose leader ours reaches in the way that `reach` finds, which all
/// of `local` call; on `own`, which is like it. Each member of both groups calls. The leader keeps the line by which it
/// has reached the other one for as long as the two sides are connected.
MPI_Comm create_intercomm(Comm& local, int leader, const std::function<Way(Comm& own)>& reach);
/// The same where the leader has that way already: the other side waits for this one from the beginning.
MPI_Comm create_intercomm(Comm& local, int leader, const Bridge& bridge);

}  // namespace rmq::mpi
