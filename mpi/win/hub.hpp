// SPDX-License-Identifier: BSD-3-Clause
// What hands out the packets of queue buffers and active messages (rma/packet/hub.hpp): made for the first of them,
// gone with the last, whichever threads make and free them.
#pragma once

#include <memory>

#include "engine/object/runtime.hpp"
#include "rma/packet/hub.hpp"

namespace rmq::mpi {

/// The one there is, or a new one; each object keeps it for as long as it lives. Needs the device held.
inline std::shared_ptr<rma::Hub> take_hub() {
  static std::weak_ptr<rma::Hub> current;
  auto hub = current.lock();
  if (!hub) current = hub = std::make_shared<rma::Hub>(*runtime().device);
  return hub;
}

}  // namespace rmq::mpi
