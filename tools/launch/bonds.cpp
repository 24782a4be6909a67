// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/bonds.hpp"

#include <algorithm>

namespace rmq::launch {

std::optional<int> Bonds::awaited_by(int child) const {
  const auto found = parent_of_.find(child);
  return found == parent_of_.end() ? std::nullopt : std::optional(found->second);
}

void Bonds::tie(const std::string& name, const std::set<int>& jobs) {
  ties_[name] = jobs;
  std::erase_if(parent_of_, [&](const auto& e) { return jobs.contains(e.first) && jobs.contains(e.second); });
}

std::set<int> Bonds::connected_with(int job) const {
  return reach(job, false);
}

std::set<int> Bonds::all_with(int job) const {
  return reach(job, true);
}

std::set<int> Bonds::reach(int job, bool expected) const {
  std::set<int> all{job};
  for (std::size_t before = 0; before < all.size();) {
    before = all.size();
    const auto join = [&](const std::set<int>& some) {
      if (std::ranges::any_of(some, [&](int one) { return all.contains(one); })) all.insert(some.begin(), some.end());
    };
    for (const auto& [name, some] : ties_) join(some);
    if (!expected) continue;
    for (const auto& [child, parent] : parent_of_) join({child, parent});
  }
  return all;
}

void Bonds::set_adrift(const std::string& name, int job) {
  adrift_.insert(job);
  const auto found = ties_.find(name);
  if (found == ties_.end()) return;
  adrift_.insert(found->second.begin(), found->second.end());
  ties_.erase(found);
}

void Bonds::forget(int job) {
  adrift_.erase(job);
  for (auto& [name, some] : ties_) some.erase(job);
  std::erase_if(ties_, [](const auto& tie) { return tie.second.size() < 2; });
  std::erase_if(parent_of_, [&](const auto& entry) { return entry.first == job || entry.second == job; });
}

bool Bonds::ends_with(int job, int other) const {
  if (awaited_by(job) == other) return true;
  return std::ranges::any_of(ties_,
                             [&](const auto& tie) { return tie.second.contains(job) && tie.second.contains(other); });
}

}  // namespace rmq::launch
