#include "base/hosts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rmq {

Hosts::Hosts(std::vector<Run> runs, int size)
    : runs_(std::make_shared<const std::vector<Run>>(std::move(runs))), size_(size), length_(end_of(0)) {
  for (std::size_t i = 1; i < runs_->size(); ++i) {
    const int length = end_of(i) - (*runs_)[i].first;
    const bool last = i + 1 == runs_->size();
    if (last ? length > length_ : length != length_) {
      length_ = 0;
      return;
    }
  }
}

namespace {

std::vector<Hosts::Run> runs_of(std::span<const int> host_of_rank) {
  std::vector<Hosts::Run> runs;
  for (std::size_t i = 0; i < host_of_rank.size(); ++i) {
    if (i == 0 || host_of_rank[i] != host_of_rank[i - 1]) runs.push_back({static_cast<int>(i), host_of_rank[i]});
  }
  return runs;
}

}  // namespace

Hosts::Hosts(std::span<const int> host_of_rank) : Hosts(runs_of(host_of_rank), static_cast<int>(host_of_rank.size())) {}

Hosts Hosts::blocks(int ranks, int a_host) {
  std::vector<Run> runs;
  for (int first = 0; first < ranks; first += a_host) runs.push_back({first, first / a_host});
  return {std::move(runs), ranks};
}

int Hosts::search(int rank) const {
  const auto next = std::ranges::upper_bound(*runs_, rank, {}, &Run::first);
  return std::prev(next)->host;
}

int Hosts::count(int host, int before) const {
  int n = 0;
  for (std::size_t i = 0; i < runs_->size() && (*runs_)[i].first < before; ++i) {
    if ((*runs_)[i].host == host) n += std::min(end_of(i), before) - (*runs_)[i].first;
  }
  return n;
}

Ranks Hosts::places_on(int host, const Ranks& members) const {
  std::vector<Rank> places;
  if (!members.is_rule() || members.size() <= count(host, size_)) {
    for (int i = 0; i < members.size(); ++i)
      if ((*this)[members[i]] == host) places.push_back(i);
    return places;
  }
  for (std::size_t run = 0; run < runs_->size(); ++run) {
    if ((*runs_)[run].host != host) continue;
    for (int rank = (*runs_)[run].first; rank < end_of(run); ++rank)
      if (const int place = members.place_of(rank); place >= 0) places.push_back(place);
  }
  std::ranges::sort(places);  // the rule may count down
  return places;
}

}  // namespace rmq
