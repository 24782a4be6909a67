// SPDX-License-Identifier: BSD-3-Clause
// What can go wrong with a window; engine/window/fault.cpp maps each to an MPI error class.
#pragma once

#include <cstdint>
#include <string_view>

namespace rmq::rma {

enum class Fault : std::uint8_t {
  none = 0,          // values travel in packets: a number is never reused
  range = 1,         // outside of the target's window                                   MPI_ERR_RMA_RANGE
  attach = 2,        // memory that cannot be attached, or is (not) attached             MPI_ERR_RMA_ATTACH
  conflict = 3,      // accesses that the standard calls erroneous                       MPI_ERR_RMA_CONFLICT
  sync = 4,          // no epoch that allows the call, or an epoch that forbids it       MPI_ERR_RMA_SYNC
  shared = 5,        // memory that cannot be shared, or a window that is not            MPI_ERR_RMA_SHARED
  locktype = 6,      // neither shared nor exclusive                                     MPI_ERR_LOCKTYPE
  op = 7,            // operation not defined for the element type                       MPI_ERR_OP
  type = 8,          // a layout that is not made of one predefined type, or sizes of origin and target that differ
                     //                                                                  MPI_ERR_TYPE
  disp = 9,          // negative displacement, or one that overflows                     MPI_ERR_DISP
  no_memory = 10,    // none left                                                     MPI_ERR_NO_MEM
  peer_lost = 11,    // the target, or the holder of a lock, has died: see lost()     MPI_ERR_OTHER (process failed)
  protocol = 12,     // a peer sent what makes no sense                               MPI_ERR_INTERN
  definition = 13,   // a target datatype whose definition is larger than targets keep (RMQ_RMA_TYPE_BYTES) MPI_ERR_TYPE
  descriptors = 14,  // no file descriptor is left for window memory                 MPI_ERR_NO_MEM
};

/// One line in words, without the names of ranks. Valid for ever.
std::string_view fault_text(Fault fault);

}  // namespace rmq::rma
