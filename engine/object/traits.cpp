// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/traits.hpp"

#include "adi/device.hpp"

namespace rmq::mpi::coll {

Traits own_traits(const adi::Device& device) {
  // As it is going to be: a session asks before there are methods, and a rank that is alone on its host opens none.
  return {device.crowded(), device.config().methods.starts_with("shm")};
}

}  // namespace rmq::mpi::coll
