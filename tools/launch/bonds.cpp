#include "tools/launch/bonds.hpp"

#include <algorithm>

namespace rmq::launch {

std::optional<int> Bonds::awaited_by(int child) const {
  const auto found = parent_of_.find(child);
  return found == parent_of_.end() ? std::nullopt : std::optional(found->second);
}

void Bonds::tie(const std::string& name, int a, int b) {
  ties_[name] = std::minmax(a, b);
  for (const auto& [child, parent] : {std::pair(a, b), std::pair(b, a)})
    if (awaited_by(child) == parent) parent_of_.erase(child);
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
    const auto join = [&](int a, int b) {
      if (all.contains(a) || all.contains(b)) all.insert({a, b});
    };
    for (const auto& [name, both] : ties_) join(both.first, both.second);
    if (!expected) continue;
    for (const auto& [child, parent] : parent_of_) join(child, parent);
  }
  return all;
}

void Bonds::set_adrift(const std::string& name, int job) {
  adrift_.insert(job);
  const auto found = ties_.find(name);
  if (found == ties_.end()) return;
  adrift_.insert({found->second.first, found->second.second});
  ties_.erase(found);
}

void Bonds::forget(int job) {
  adrift_.erase(job);
  std::erase_if(ties_, [&](const auto& tie) { return tie.second.first == job || tie.second.second == job; });
  std::erase_if(parent_of_, [&](const auto& entry) { return entry.first == job || entry.second == job; });
}

bool Bonds::ends_with(int job, int other) const {
  if (awaited_by(job) == other) return true;
  const std::pair<int, int> both = std::minmax(job, other);
  return std::ranges::any_of(ties_, [&](const auto& tie) { return tie.second == both; });
}

}  // namespace rmq::launch
