// SPDX-License-Identifier: BSD-3-Clause
// What the rank tells about itself when it is asked: report.cpp.
#pragma once

namespace rmq::mpi {

/// From now on. At the end of MPI_Init.
void start_reports();

}  // namespace rmq::mpi
