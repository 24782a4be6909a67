// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// fails with: MPI_Comm_rank was called before MPI_Init
#include "check.hpp"

int main() {
  return check::rank();
}
