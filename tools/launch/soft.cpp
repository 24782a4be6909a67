// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/soft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "tools/launch/words.hpp"

namespace rmq::launch {

Result<int> soft_count(const std::string& text, int most) {
  int best = -1;
  for (const std::string_view range : split(text, ',')) {
    if (range.empty()) continue;
    std::vector<int> n;
    for (const std::string_view part : split(range, ':')) {
      const auto value = parse_number(part, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
      if (!value) return wrong("expects numbers and ranges as first:last:step, with commas");
      n.push_back(*value);
    }
    if (n.empty() || n.size() > 3 || (n.size() > 2 && n[2] == 0)) return wrong("expects ranges as first:last:step");
    const std::int64_t first = n[0], step = n.size() > 2 ? n[2] : 1, last = n.size() > 1 ? n[1] : n[0];
    // The greatest of the range that is allowed: as many steps as lead up to it, or down from the first.
    const std::int64_t top = step > 0 ? std::min<std::int64_t>(last, most) : most;
    const std::int64_t above = std::max<std::int64_t>(first - top - step - 1, 0);
    const std::int64_t steps = step > 0 ? (top - first) / step : above / -step;
    const std::int64_t value = first + steps * step;
    if (step > 0 ? first <= top : value >= last)
      if (value >= 0) best = std::max(best, static_cast<int>(value));
  }
  if (best < 0) return wrong(fmt::format("allows none of 0 to {} processes", most));
  return best;
}

}  // namespace rmq::launch
