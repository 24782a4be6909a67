// SPDX-License-Identifier: BSD-3-Clause
#include "base/ranks.hpp"

#include <algorithm>

namespace rmq {

struct Ranks::Shared {
  std::vector<Rank> list;
  std::vector<std::pair<Rank, int>> places;  // the inverse, by world rank, from the first find() on
};

Ranks::Ranks(std::vector<Rank> list) : size_(static_cast<int>(list.size())) {
  if (list.empty()) return;
  first_ = list.front();
  if (size_ > 1) stride_ = list[1] - list[0];
  const auto follows = [this, i = 0](Rank r) mutable { return r == first_ + i++ * stride_; };
  if (stride_ != 0 && std::ranges::all_of(list, follows)) return;
  shared_ = std::make_shared<Shared>(Shared{std::move(list), {}});
  list_ = shared_->list.data();
}

int Ranks::find(Rank world) const {
  auto& places = shared_->places;
  if (places.empty()) {
    places.reserve(static_cast<std::size_t>(size_));
    for (int i = 0; i < size_; ++i) places.emplace_back(list_[i], i);
    std::ranges::sort(places);
  }
  const auto at = std::ranges::lower_bound(places, std::pair{world, 0});
  return at != places.end() && at->first == world ? at->second : -1;
}

bool Ranks::operator==(const Ranks& other) const {
  if (size_ != other.size_) return false;
  if (list_ || other.list_) return list_ == other.list_ || std::equal(begin(), end(), other.begin());
  return size_ == 0 || (first_ == other.first_ && (size_ == 1 || stride_ == other.stride_));
}

}  // namespace rmq
