// SPDX-License-Identifier: BSD-3-Clause
// Random programs of remote memory access on real processes, through MPI alone.
#pragma once

#include <mpi.h>

#include "rma/program.hpp"

namespace rmq::testing {

/// Runs this process's part; collective over `comm`, which has plan.ranks members. A shared window's members are on one
/// host. Faults are printed and end the job.
void run_on_mpi(const RmaPlan& plan, MPI_Comm comm);

}  // namespace rmq::testing
