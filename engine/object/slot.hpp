// SPDX-License-Identifier: BSD-3-Clause
// Elements of containers by MPI's numbers, which are ints: ranks, places, dimensions.
#pragma once

#include <cstddef>

namespace rmq::mpi {

/// `i` is not negative.
inline std::size_t slot(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace rmq::mpi
