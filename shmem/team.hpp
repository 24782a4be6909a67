// SPDX-License-Identifier: BSD-3-Clause
// Teams: some PEs in an order of their own. Behind each is a communicator of MPI's inside, on which its collectives run
// (engine/coll/); programs of MPI never see it. Active sets, the older way, are teams that are made when they are first
// used, and kept.
#pragma once

#include "shmem/objects.hpp"
#include "shmem/world.hpp"

namespace rmq::shmem {

/// The team of a handle; ends the job when it is none.
Team& team_of(const char* function, shmem_team_t handle);
shmem_team_t handle_of(const Team& team);
/// SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED. Collective.
void make_first_teams();
/// Lets go of all.
void end_teams();
/// The team of an active set, of which this PE is a member; the device held. Collective over it when it is new.
Team& active_set(int start, int log_stride, int size);

}  // namespace rmq::shmem
