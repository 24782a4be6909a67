// SPDX-License-Identifier: BSD-3-Clause
// The costs of a simulated network: as they are by default, and as a file has them.
#pragma once

#include <string>

#include "base/error.hpp"
#include "methods/simulated.hpp"

namespace rmq::sim {

/// Two sorts of hosts' links like those of a small cluster: shared memory, and 25 Gbit/s with kernel TCP.
methods::SimCost default_cost();

/// A file of lines "<name> = <number>" ('#' begins a comment): names as in table(). What it does not name keeps its
/// value. Errc::config names the line.
Result<methods::SimCost> read_cost(const std::string& path);

/// The same as a file.
std::string text_of(const methods::SimCost& cost);

}  // namespace rmq::sim
