// SPDX-License-Identifier: BSD-3-Clause
// Agreements of some members of a communicator alone (MPI_Comm_create_group), where ranks may die: in a place of their
// own, which the others know nothing of, and which ends alike for all its members when the communicator is revoked.
//
// Who knows of the revocation when it calls does not come to the place; whoever is there already stays, and tells the
// others by the communicator's circle. Who has not come by then refuses in the place: so either all that live have what
// they agree on, or none.
#pragma once

#include "engine/comm/comms.hpp"
#include "engine/ft/circle.hpp"

namespace rmq::mpi::ft {

/// A context for all that live of `group`, whose members belong to `c`, not known to be revoked; or throws Failure at
/// each of them. Each member comes as often with the same tag.
Contexts agree_in_group(Comm& c, const Group& group, int tag);

/// See Circle::refuse_in_group.
bool refuse_in_group(const Circle& circle, const GroupAgreement& agreement);

}  // namespace rmq::mpi::ft
