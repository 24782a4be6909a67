// SPDX-License-Identifier: BSD-3-Clause
// A picture of how patterns grow: time against ranks, both logarithmic, and the bound below each.
#pragma once

#include <string>
#include <vector>

namespace rmq::sim {

struct Curve {
  std::string name;  // "bcast 64k"
  struct Point {
    double ranks, us, bound_us;
  };
  std::vector<Point> points;
};

/// As SVG. Points that are not above 0 are left out.
std::string picture(const std::vector<Curve>& curves);

}  // namespace rmq::sim
