#include "rma/window_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rmq::rma {

WindowState::WindowState(Domain& d, WindowOptions o) : domain(d), options(std::move(o)) {
  const std::size_t n = options.ranks.size();
  members = static_cast<unsigned>(n);
  my_place = options.me;
  reach = std::make_unique<Reach[]>(n);
  epochs.started.resize(n);
  member_of.assign(static_cast<std::size_t>(d.device().size()), -1);
  for (std::size_t i = 0; i < n; ++i) member_of[static_cast<std::size_t>(options.ranks[i])] = static_cast<int>(i);
}

bool WindowState::is_lost(int place) const {
  return std::find(lost_members.begin(), lost_members.end(), place) != lost_members.end();
}

Fault WindowState::lost_because_of(int place, const char* held) {
  lost_text = fmt::format("rank {} is lost{}: {}", world(place), held, device().peer_error(world(place)));
  return Fault::peer_lost;
}

}  // namespace rmq::rma
