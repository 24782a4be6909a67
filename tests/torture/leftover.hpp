// SPDX-License-Identifier: BSD-3-Clause
// What a job has left behind when it is over.
#pragma once

#include <string>
#include <vector>

#include "chaos/room.hpp"

namespace torture {

/// Processes that bear the mark, files, segments, sockets and names, in words; waits for what is still going, and ends
/// or removes the rest. Names of sockets are looked for in a network of the room's own only.
std::vector<std::string> take_leftovers(const rmq::test::Room& room, const std::string& mark);

/// Leaves one of each behind: what take_leftovers has to find.
void plant_leftovers(const rmq::test::Room& room, const std::string& mark);

}  // namespace torture
