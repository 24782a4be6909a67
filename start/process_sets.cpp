// SPDX-License-Identifier: BSD-3-Clause
#include "start/process_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace rmq {

namespace {

/// Cuts the text in front of the first separator off.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

tl::unexpected<Error> wrong(std::string_view set, std::string_view what) {
  return fail(Errc::argument, fmt::format("process set '{}': {}", set, what));
}

Result<Ranks> ranks_of(std::string_view name, std::string_view list, int size) {
  constexpr int kMost = 1 << 24;
  std::vector<Rank> ranks;
  while (!list.empty()) {
    std::string_view last = take_until(list, ',');
    const std::string_view part = last;
    const std::string_view first = take_until(last, '-');
    const auto from = number(first), to = part.size() > first.size() ? number(last) : from;
    if (!from || !to || *to < *from)
      return wrong(name, fmt::format("'{}' is neither a rank nor a range of ranks, as 0-3", part));
    if (*to >= (size > 0 ? size : kMost))
      return wrong(name, fmt::format("there is no rank {}{}", *to, size > 0 ? fmt::format(" of {}", size) : ""));
    for (int r = *from; r <= *to; ++r) ranks.push_back(r);
  }
  if (ranks.empty()) return wrong(name, "it has no ranks (NAME=0-3,7)");
  std::vector<Rank> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return wrong(name, fmt::format("rank {} is named twice", *twice));
  return Ranks(std::move(ranks));
}

}  // namespace

Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, int size) {
  std::vector<ProcessSet> sets;
  while (!text.empty()) {
    std::string_view list = take_until(text, ';');
    const std::string_view name = take_until(list, '=');
    if (name.empty()) return wrong(name, "it has no name (NAME=0-3,7)");
    if (name.size() > max_set_name) return wrong(name, fmt::format("the name is longer than {} bytes", max_set_name));
    for (const std::string_view ours : {"mpi://", "rmq://"})
      if (name.starts_with(ours)) return wrong(name, fmt::format("names with {} are not the user's", ours));
    for (const ProcessSet& s : sets)
      if (s.name == name) return wrong(name, "there is one of this name already");
    auto ranks = ranks_of(name, list, size);
    if (!ranks) return tl::make_unexpected(ranks.error());
    sets.push_back({std::string(name), std::move(*ranks)});
  }
  return sets;
}

}  // namespace rmq
