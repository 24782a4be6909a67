// SPDX-License-Identifier: BSD-3-Clause
// What a persistent collective has chosen: noted when it first runs, and taken from there each time that it is started
// again. Its arguments stay, so it asks the same questions in the same order.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/coll/rules.hpp"

namespace rmq::mpi::coll {

class Plan {
 public:
  /// Before each run.
  void begin() { at_ = 0; }
  /// The answer to the next question: `choose()`, when it is asked for the first time.
  template <class Choose>
  Algorithm next(Collective what, const Choose& choose) {
    if (at_ < made_.size() && made_[at_].what == what) [[likely]]
      return made_[at_++].algorithm;
    made_.resize(at_);  // an error has led elsewhere: from here on anew
    made_.push_back({what, choose()});
    return made_[at_++].algorithm;
  }

 private:
  struct Chosen {
    Collective what;
    Algorithm algorithm;
  };
  std::vector<Chosen> made_;
  std::size_t at_ = 0;
};

}  // namespace rmq::mpi::coll
