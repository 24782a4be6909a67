// SPDX-License-Identifier: BSD-3-Clause
// How a job is troubled: what is done to its processes before they start and while they run.
#pragma once

#include <string>

#include "tests/chaos/plan.hpp"
#include "tests/chaos/room.hpp"

namespace rmq::test {

/// In the child that becomes rmqrun: limits and refusals that all its descendants inherit.
void prepare_child(const Plan& plan);

/// The process of that rank, or of the keeper with rank -1; 0 while there is none.
pid_t find_process(const std::string& mark, int rank);

/// Connects to every port on which somebody listens in this network, says something that no rank would, and goes, or
/// stays and is silent; for a few hundred milliseconds. Draws from the seed.
void visit_ports(std::uint64_t seed);

}  // namespace rmq::test
