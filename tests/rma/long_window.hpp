// SPDX-License-Identifier: BSD-3-Clause
// A window of longs at each rank, as tests of operations want it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rma/fibers.hpp"

namespace rmq::testing {

inline const LayoutRef kLong = Layout::basic(Basic::i64, 8);

/// Collective: a window of `longs` zeros, which `memory` owns, counted in longs.
inline std::unique_ptr<rma::Window> open_longs(Fibers& f, int me, std::vector<std::int64_t>& memory,
                                               std::size_t longs) {
  memory.assign(longs, 0);
  rma::WindowOptions o;
  o.id = 7;
  o.base = memory.data();
  o.size = longs * 8;
  o.disp_unit = 8;
  return f.window(me, o);
}

/// Collective: a dynamic window, to which nothing is attached.
inline std::unique_ptr<rma::Window> open_dynamic(Fibers& f, int me, const rma::Hints& hints = {}) {
  rma::WindowOptions o;
  o.id = 3;
  o.flavor = rma::Flavor::dynamic;
  o.hints = hints;
  return f.window(me, o);
}

inline DataView view(const std::vector<std::int64_t>& data) {
  return DataView::contiguous(data.data(), data.size() * 8);
}

}  // namespace rmq::testing
