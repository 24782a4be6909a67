// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace rmq::sim {
namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 150, kTop = 20, kBottom = 45;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                    "#8c564b", "#e377c2", "#17becf", "#7f7f7f", "#bcbd22"};

/// Decades that hold all values.
class Axis {
 public:
  double low = std::numeric_limits<double>::max(), high = 0;  // log10
  Axis(double from, double to) : from_(from), to_(to) {}      // pixels
  void hold(double v) {
    if (v <= 0) return;
    low = std::min(low, std::floor(std::log10(v)));
    high = std::max(high, std::ceil(std::log10(v)));
  }
  double at(double v) const { return from_ + (std::log10(v) - low) / std::max(high - low, 1.0) * (to_ - from_); }

 private:
  double from_, to_;
};

std::string number(double decade) {
  const double v = std::pow(10, decade);
  return v >= 1e6 ? fmt::format("{:g} M", v / 1e6) : v >= 1e3 ? fmt::format("{:g} k", v / 1e3) : fmt::format("{:g}", v);
}

std::string line_of(const std::string& path, const std::string& how) {
  return fmt::format("<path d=\"{}\" {}/>\n", path, how);
}
std::string text_of(double x, double y, const std::string& how, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, how, text);
}

bool is_near(const std::vector<double>& all, double at) {
  for (const double one : all)
    if (std::abs(one - at) < 13) return true;
  return false;
}

}  // namespace

std::string picture(const std::vector<Curve>& curves) {
  Axis x(kLeft, kWidth - kRight), y(kHeight - kBottom, kTop);
  for (const Curve& c : curves) {
    for (const Curve::Point& p : c.points) {
      x.hold(p.ranks);
      y.hold(p.us);
      y.hold(p.bound_us);
    }
  }
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"12\" ";
  out += fmt::format("viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n", kWidth, kHeight);
  out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"white\"/>\n", kWidth, kHeight);
  for (double d = x.low; d <= x.high; ++d) {
    const double at = x.at(std::pow(10, d));
    out += line_of(fmt::format("M{:.1f} {}V{}", at, kTop, kHeight - kBottom), "stroke=\"#ddd\"");
    out += text_of(at, kHeight - kBottom + 18, "text-anchor=\"middle\"", number(d));
  }
  for (double d = y.low; d <= y.high; ++d) {
    const double at = y.at(std::pow(10, d));
    out += line_of(fmt::format("M{} {:.1f}H{}", kLeft, at, kWidth - kRight), "stroke=\"#ddd\"");
    out += text_of(kLeft - 6, at + 4, "text-anchor=\"end\"", number(d) + " us");
  }
  out += text_of((kLeft + kWidth - kRight) / 2, kHeight - 8, "text-anchor=\"middle\"",
                 "ranks (solid: simulated, dashed: the least that it could take)");
  std::vector<double> labels;  // where names stand
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string colour = kColours[i % std::size(kColours)];
    std::string line, bound;
    double last = 0;
    for (const Curve::Point& p : curves[i].points) {
      if (p.us > 0) {
        last = y.at(p.us);
        line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x.at(p.ranks), last);
      }
      if (p.bound_us > 0)
        bound += fmt::format("{}{:.1f} {:.1f}", bound.empty() ? "M" : "L", x.at(p.ranks), y.at(p.bound_us));
    }
    while (is_near(labels, last)) last += 13;
    labels.push_back(last);
    out += line_of(line, fmt::format("fill=\"none\" stroke-width=\"2\" stroke=\"{}\"", colour));
    out += line_of(bound, fmt::format("fill=\"none\" stroke-dasharray=\"4 3\" stroke=\"{}\"", colour));
    out += text_of(kWidth - kRight + 8, last + 4, fmt::format("fill=\"{}\"", colour), curves[i].name);
  }
  return out + "</svg>\n";
}

}  // namespace rmq::sim
