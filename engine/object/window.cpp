// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window/window.hpp"

#include "engine/object/comm.hpp"

namespace rmq::mpi {

Win::Win() = default;

Win::~Win() {
  window.reset();  // before its number may be given to another
  if (errhandler) release(errhandler);
  if (comm) release(comm);
}

}  // namespace rmq::mpi
