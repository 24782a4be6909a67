// SPDX-License-Identifier: BSD-3-Clause
// Whether all who live of a communicator have come to the same value.
#pragma once

#include <mpi.h>

/// Collective; goes on when members have died or the communicator is revoked.
inline bool are_alike(MPI_Comm comm, int value) {
  int all = value, none = ~value;
  MPIX_Comm_agree(comm, &all);  // the bitwise and
  MPIX_Comm_agree(comm, &none);
  return all == ~none;
}
