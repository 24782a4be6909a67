// SPDX-License-Identifier: BSD-3-Clause
// What a window hears from the others while it is made, where all that members can do is to gather words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rma/window/window.hpp"

namespace rmq::testing {

class Heard {
 public:
  /// `gather(words)`: those of all members, in their order.
  template <class Gather>
  Heard(const rma::Window& window, Gather&& gather) {
    const rma::Brought mine = window.brought();
    const auto masks = mine.masks();
    const std::vector<std::uint64_t> all = gather(std::span<const std::uint64_t>(masks));
    told_.masks.fill(~std::uint64_t{0});
    for (std::size_t i = 0; i < all.size(); ++i) told_.masks[i % masks.size()] &= all[i];
    const auto words = mine.fact.words();
    of_all_ = gather(std::span<const std::uint64_t>(words));
    const std::vector<std::uint64_t> ways = gather(std::span<const std::uint64_t>(mine.to_host));
    for (const int place : window.host()) {
      const auto at = ways.begin() + place * static_cast<std::ptrdiff_t>(mine.to_host.size());
      of_host_.insert(of_host_.end(), at, at + static_cast<std::ptrdiff_t>(mine.to_host.size()));
    }
    told_.of_all = of_all_;
    told_.of_host = of_host_;
  }
  const rma::Told& told() const { return told_; }

 private:
  std::vector<std::uint64_t> of_all_, of_host_;
  rma::Told told_;
};

}  // namespace rmq::testing
