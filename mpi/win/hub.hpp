// What hands out the packets of all objects of one kind (rma/queue.hpp, rma/active_messages.hpp): made for the first of
// them, gone with the last, whichever threads make and free them.
#pragma once

#include <memory>

#include "engine/object/runtime.hpp"

namespace rmq::mpi {

/// The one there is, or a new one; each object keeps it for as long as it lives. Needs the device held.
template <class Hub>
std::shared_ptr<Hub> take_hub() {
  static std::weak_ptr<Hub> current;
  auto hub = current.lock();
  if (!hub) current = hub = std::make_shared<Hub>(*runtime().device);
  return hub;
}

}  // namespace rmq::mpi
