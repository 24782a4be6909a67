// SPDX-License-Identifier: BSD-3-Clause
// What simulated ranks do: each collective, and some patterns of neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "tools/sim/crew.hpp"

namespace rmq::sim {

struct Pattern {
  std::string_view name;
  std::string_view meaning;
  /// Prepares what all rounds have in common, outside of the time that is measured; what one round is on a rank.
  std::function<void(Rank)> (*prepare)(Crew& crew, std::uint64_t bytes);
  /// The least time that it can take, ns: the latency of the fewest packets one after the other, or the busiest
  /// interface or CPU, whichever is more.
  double (*bound)(const Hosts& hosts, const methods::SimCost& cost, double bytes);
};

std::span<const Pattern> patterns();
/// nullptr: there is none of this name.
const Pattern* find_pattern(std::string_view name);

}  // namespace rmq::sim
