// SPDX-License-Identifier: BSD-3-Clause
// What an operation does to data: base/data/reduction.hpp, or the program's own function.
#pragma once

#include "adi/device.hpp"
#include "engine/object/datatypes.hpp"

namespace rmq::mpi {

/// inout[i] = in[i] op inout[i] for `count` elements. op_valid_for() must hold. Addresses as MPI passes buffers: of the
/// first element's origin. A user function is called without the device held in threaded programs, in portions of at
/// most INT_MAX elements unless it takes large counts.
void apply_op(adi::Device& device, const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type);

}  // namespace rmq::mpi
