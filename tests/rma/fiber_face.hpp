// SPDX-License-Identifier: BSD-3-Clause
// Random programs of remote memory access on the windows of in-process devices, each rank a fiber.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rma/fibers.hpp"
#include "rma/program.hpp"

namespace rmq::testing {

/// Runs the whole program on a network of chance. The faults that were found; none is success.
std::vector<std::string> run_on_fibers(const RmaPlan& plan);

}  // namespace rmq::testing
