// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/facts.hpp"

#include <algorithm>
#include <iterator>

namespace rmq::rma {

Facts::Facts(const Told& told) {
  if (told.is_alike()) {
    runs_.push_back({0, Fact::from(told.masks)});
    return;
  }
  const std::size_t members = told.of_all.size() / Fact::kWords;
  for (std::size_t i = 0; i < members; ++i) {
    const Fact f = Fact::from(told.of_all.subspan(i * Fact::kWords, Fact::kWords));
    if (runs_.empty() || runs_.back().fact != f) runs_.push_back({static_cast<int>(i), f});
  }
}

const Fact& Facts::operator[](int place) const {
  return std::prev(std::ranges::upper_bound(runs_, place, {}, &Run::first))->fact;
}

bool Facts::same_size() const {
  return std::ranges::all_of(runs_, [&](const Run& r) { return r.fact.size == runs_[0].fact.size; });
}

bool Facts::same_unit() const {
  return std::ranges::all_of(runs_, [&](const Run& r) { return r.fact.unit == runs_[0].fact.unit; });
}

int Facts::first_fault() const {
  const auto at = std::ranges::find_if(runs_, [](const Run& r) { return r.fact.fault != 0; });
  return at == runs_.end() ? -1 : at->first;
}

}  // namespace rmq::rma
