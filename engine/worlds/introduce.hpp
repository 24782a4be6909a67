// SPDX-License-Identifier: BSD-3-Clause
// How the members of two groups come to know each other before there is a communicator of both: who is who, and where;
// what collectives go by; and, where some have never met, a party of all (adi/party.hpp). Each member of both groups
// calls; all needs the device held.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/comms.hpp"
#include "start/line.hpp"

namespace rmq::mpi {

struct Introduction {
  std::vector<Rank> remote;            // this process's numbers of the other group's members, in their order
  const coll::Terms* terms = nullptr;  // of all; nullptr: those of the parent
  adi::Party* party = nullptr;         // that was made for this; nullptr: all knew each other
  std::vector<std::uint64_t> beyond;   // jobs of the other group that are none of this one's
  bool by_line = false;                // the leaders have met by one
  Order order;                         // of what the two groups agree on
};

/// `leader` of `local` reaches the other one through the bridge. Throws Failure, at all members, when it cannot be.
Introduction introduce(Comm& local, int leader, const Bridge& bridge);

}  // namespace rmq::mpi
