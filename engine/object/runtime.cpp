// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

constinit detail::Immortal detail::instance;

}  // namespace rmq::mpi
