// SPDX-License-Identifier: BSD-3-Clause
#include "adi/match.hpp"

#include <algorithm>

namespace rmq::adi {
namespace {

/// Calls f with the index of class `c`.
template <class Indexes, class F>
decltype(auto) of_class(Indexes& indexes, MatchClass c, F&& f) {
  switch (c) {
    case MatchClass::any_tag:
      return f(std::get<1>(indexes));
    case MatchClass::any_source:
      return f(std::get<2>(indexes));
    case MatchClass::any:
      return f(std::get<3>(indexes));
    case MatchClass::exact:
      break;
  }
  return f(std::get<0>(indexes));
}

}  // namespace

void Matcher::post_wild(Request* recv) {
  of_class(posted_, class_of(recv->match), [&](auto& index) { index.append(recv); });
  ++wild_posted_;
}

void Matcher::withdraw(Request* recv) {
  const MatchClass c = class_of(recv->match);
  of_class(posted_, c, [&](auto& index) { index.remove(recv); });
  if (c != MatchClass::exact) --wild_posted_;
}

Request* Matcher::match_among_wild(const Match& m) {
  Request* first = nullptr;
  const auto look = [&](const auto& index) {
    if (Request* r = index.find(m); r && (!first || r->stamp < first->stamp)) first = r;
  };
  std::apply([&](const auto&... index) { (look(index), ...); }, posted_);
  if (first && first->parts == 1) withdraw(first);
  return taken(first);
}

void Matcher::keep(Request* message) {
  message->stamp = ++stamp_;
  std::get<0>(unexpected_).append(message);
  if (indexed_[1]) std::get<1>(unexpected_).append(message);
  if (indexed_[2]) std::get<2>(unexpected_).append(message);
  if (indexed_[3]) std::get<3>(unexpected_).append(message);
}

void Matcher::take(Request* message) {
  std::get<0>(unexpected_).remove(message);
  if (indexed_[1]) std::get<1>(unexpected_).remove(message);
  if (indexed_[2]) std::get<2>(unexpected_).remove(message);
  if (indexed_[3]) std::get<3>(unexpected_).remove(message);
}

void Matcher::need(MatchClass c) {
  if (indexed_[static_cast<std::size_t>(c)]) [[likely]]
    return;
  indexed_[static_cast<std::size_t>(c)] = true;
  // The exact index keeps order within one envelope only, so the stamps decide the order of the new one.
  std::vector<Request*> all;
  all.reserve(unexpected());
  for_each_unexpected([&](Request* r) { all.push_back(r); });
  std::sort(all.begin(), all.end(), [](const Request* a, const Request* b) { return a->stamp < b->stamp; });
  of_class(unexpected_, c, [&](auto& index) {
    for (Request* r : all) index.append(r);
  });
}

Request* Matcher::find(const Match& pattern) {
  const MatchClass c = class_of(pattern);
  need(c);
  return of_class(unexpected_, c, [&](const auto& index) { return index.find(pattern); });
}

}  // namespace rmq::adi
