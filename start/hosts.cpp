// SPDX-License-Identifier: BSD-3-Clause
#include "start/hosts.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace rmq {

Hosts::Hosts(std::vector<Run> runs, int period, int size)
    : runs_(std::make_shared<const std::vector<Run>>(std::move(runs))),
      size_(size),
      period_(period),
      length_(period == size ? end_of(0) : 0) {
  for (std::size_t i = 1; i < runs_->size() && length_ != 0; ++i) {
    const int length = end_of(i) - (*runs_)[i].first;
    const bool last = i + 1 == runs_->size();
    if (last ? length > length_ : length != length_) length_ = 0;
  }
}

namespace {

// The shortest beginning that all the rest repeats, whole or in part: the text without its longest border (Knuth,
// Morris, Pratt).
std::size_t period_of(std::span<const int> text) {
  std::vector<std::size_t> border(text.size(), 0);
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && text[i] != text[length]) length = border[length - 1];
    border[i] = length + (text[i] == text[length] ? 1 : 0);
  }
  return text.size() - border.back();
}

std::vector<Hosts::Run> runs_of(std::span<const int> host_of_rank) {
  std::vector<Hosts::Run> runs;
  for (std::size_t i = 0; i < host_of_rank.size(); ++i) {
    if (i == 0 || host_of_rank[i] != host_of_rank[i - 1]) runs.push_back({static_cast<int>(i), host_of_rank[i]});
  }
  return runs;
}

// Of a period that pays: with one run there is none, and few repetitions save little.
std::size_t useful_period(std::span<const int> host_of_rank) {
  const std::size_t period = period_of(host_of_rank);
  return period > 1 && 2 * period <= host_of_rank.size() ? period : host_of_rank.size();
}

}  // namespace

Hosts::Hosts(std::span<const int> host_of_rank)
    : Hosts(runs_of(host_of_rank.first(useful_period(host_of_rank))), static_cast<int>(useful_period(host_of_rank)),
            static_cast<int>(host_of_rank.size())) {}

Hosts Hosts::blocks(int ranks, int a_host) {
  std::vector<Run> runs;
  for (int first = 0; first < ranks; first += a_host) runs.push_back({first, first / a_host});
  return {std::move(runs), ranks, ranks};
}

std::optional<Hosts> Hosts::of_runs(std::vector<Run> runs, int period, int size) {
  if (runs.empty() || runs[0].first != 0 || period < 1 || period > size) return std::nullopt;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int end = i + 1 < runs.size() ? runs[i + 1].first : period;
    if (runs[i].first >= end || runs[i].host < 0 || runs[i].host >= size) return std::nullopt;
    const auto host = static_cast<std::size_t>(runs[i].host);
    if (host >= seen.size()) seen.resize(host + 1);
    seen[host] = true;
  }
  if (std::ranges::find(seen, false) != seen.end()) return std::nullopt;
  if (runs.size() == 1) period = size;
  return Hosts(std::move(runs), period, size);
}

int Hosts::hosts() const {
  return 1 + std::ranges::max_element(*runs_, {}, &Run::host)->host;
}

int Hosts::search(int rank) const {
  const auto next = std::ranges::upper_bound(*runs_, rank % period_, {}, &Run::first);
  return std::prev(next)->host;
}

int Hosts::count(int host, int before) const {
  const int whole = before / period_, rest = before % period_;
  int in_period = 0, in_rest = 0;
  for (std::size_t i = 0; i < runs_->size(); ++i) {
    const int first = (*runs_)[i].first;
    if ((*runs_)[i].host != host) continue;
    in_period += end_of(i) - first;
    in_rest += std::max(0, std::min(end_of(i), rest) - first);
  }
  return whole * in_period + in_rest;
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
    for (int shift = 0; shift < size_; shift += period_)
      for (int rank = shift + (*runs_)[run].first; rank < std::min(shift + end_of(run), size_); ++rank)
        if (const int place = members.place_of(rank); place >= 0) places.push_back(place);
  }
  std::ranges::sort(places);  // the rule may count down
  return places;
}

}  // namespace rmq
