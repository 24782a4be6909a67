// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/window_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rmq::rma {

WindowCore::WindowCore(const Window& its_window, TellWait its_tell_wait, DomainCore& its_domain,
                       WindowOptions its_options)
    : domain(its_domain), window(its_window), tell_wait(its_tell_wait), options(std::move(its_options)) {
  const int n = options.ranks.size();
  reach = os::Zeros<Reach>(n);
  counts = os::Zeros<Counts>(n);
  members = static_cast<unsigned>(n);
  me = options.me;
  by_address = options.flavor == Flavor::shared;
  host = device().places_beside(world(me), options.ranks);
  host_me = host.place_of(me);
}

bool WindowCore::is_lost(int rank) const {
  return std::find(lost_members.begin(), lost_members.end(), rank) != lost_members.end();
}

Fault WindowCore::lost_because_of(int rank, const char* held) {
  lost = fmt::format("rank {} is lost{}: {}", world(rank), held, device().peer_error(world(rank)));
  return Fault::peer_lost;
}

}  // namespace rmq::rma
