// SPDX-License-Identifier: BSD-3-Clause
// What MPICH's library for Fortran needs of this one.
#pragma once

namespace rmq::mpi {

/// Fills in what MPICH's Fortran library expects of the C library; does nothing where it is absent. For the functions
/// that start MPI.
void tell_fortran();

}  // namespace rmq::mpi
