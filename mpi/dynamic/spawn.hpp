// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn and its kin: what a new world is to be made of, and where it comes from. Needs the device held.
#pragma once

#include "engine/comm/comms.hpp"

namespace rmq::mpi {

/// In MPI_Init of a world that has been spawned: connects it to its parents, whose port the environment names. Does
/// nothing in others. Collective over MPI_COMM_WORLD. Throws Failure.
void find_parents();
/// The program ends its hold on a communicator: if it is the one with the parents, it is known no more.
void forget_parent(const Comm& c);

}  // namespace rmq::mpi
