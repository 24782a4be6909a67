// SPDX-License-Identifier: BSD-3-Clause
// The heat equation on a square plate, explicit five-point scheme: what the serial and the parallel program share, so
// that both compute every cell by the same operations in the same order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace heat {

/// Temperature at the start of interior cell (row, column) of an n x n plate: two hot discs.
inline double initial(int row, int column, int n) {
  const double y = (row + 0.5) / n, x = (column + 0.5) / n;
  const auto disc = [&](double cy, double cx, double r) { return std::hypot(y - cy, x - cx) < r; };
  return disc(0.35, 0.3, 0.12) ? 100.0 : disc(0.65, 0.7, 0.2) ? 60.0 : 0.0;
}

/// A block of the plate with a border of one cell: rows x columns interior cells, row-major.
struct Block {
  int rows, columns;
  std::vector<double> cells;

  Block(int r, int c) : rows(r), columns(c), cells(static_cast<std::size_t>(r + 2) * static_cast<std::size_t>(c + 2)) {}
  int stride() const { return columns + 2; }
  double& at(int r, int c) {  // -1 and rows (columns) address the border
    return cells[static_cast<std::size_t>(r + 1) * static_cast<std::size_t>(stride()) +
                 static_cast<std::size_t>(c + 1)];
  }
  const double& at(int r, int c) const { return const_cast<Block*>(this)->at(r, c); }
};

/// One step from `now` to `next`; the largest change of any cell.
inline double step(const Block& now, Block& next) {
  constexpr double kAlpha = 0.2;
  double largest = 0;
  for (int r = 0; r < now.rows; ++r) {
    for (int c = 0; c < now.columns; ++c) {
      const double here = now.at(r, c);
      const double flow = now.at(r - 1, c) + now.at(r + 1, c) + now.at(r, c - 1) + now.at(r, c + 1) - 4 * here;
      next.at(r, c) = here + kAlpha * flow;
      largest = std::fmax(largest, std::fabs(kAlpha * flow));
    }
  }
  return largest;
}

/// Writes n x n doubles; false when the file cannot be written.
inline bool write_field(const std::string& path, const std::vector<double>& field) {
  std::FILE* f = std::fopen(path.c_str(), "wb");
  if (!f) return false;
  const bool whole = std::fwrite(field.data(), sizeof(double), field.size(), f) == field.size();
  return std::fclose(f) == 0 && whole;
}

}  // namespace heat
