// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.4.2: communicators from groups.
#include <fmt/format.h>

#include "engine/comm/group_agreement.hpp"
#include "engine/comm/together.hpp"
#include "engine/object/deaths.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

// Tags of agreements that only some members of a communicator take part in: above those of collectives.
constexpr int kGroupTags = 1 << 29;

using Words = std::vector<std::uint64_t>;

/// As it travels: numbers of processes are each one's own, places in a group are not.
Words places_in(const Group& group, const Ranks& ranks) {
  Words places;
  for (const Rank r : ranks) places.push_back(static_cast<std::uint64_t>(group.place_of(r)));
  return places;
}
std::vector<Rank> ranks_at(const Group& group, const Words& places) {
  std::vector<Rank> ranks;
  for (const std::uint64_t place : places) {
    if (place >= static_cast<std::uint64_t>(group.size()))
      fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
    ranks.push_back(group.world[static_cast<int>(place)]);
  }
  return ranks;
}

void check_subset(const Group& group, const Comm& c) {
  for (const Rank r : group.world) {
    if (c.group->place_of(r) == MPI_UNDEFINED) {
      fail_call(MPI_ERR_GROUP, fmt::format("argument group has a member (world rank {}) that is not in comm", r));
    }
  }
}

/// Agreement of the group's members alone.
Contexts agree_in_group(Comm& c, const Group& group, int tag) {
  ft::check_not_revoked(c);
  if (ft::may_fail() && group.size() > 1) return ft::agree_in_group(c, group, tag);
  Party party{c, {}, group.rank, kGroupTags + tag};
  for (const Rank r : group.world) party.ranks.push_back(c.group->place_of(r));
  return agree_on_contexts(party, 1);
}

MPI_Comm create_group(Comm& c, const Group& group, int tag) {
  const Contexts contexts = agree_in_group(c, group, tag);
  NewComm made{contexts[0], new_group(group.world, group.session)};
  made.traits = contexts.traits;
  return new_comm(c, made)->handle;
}

}  // namespace

RMQ_MPI(int, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    const Group& g = group_arg(group);
    check_subset(g, c);
    note_collective(c);
    *newcomm = handle_or_null(ft::make_together(c, [&](Comm& own) {
      Ranks remote;
      if (own.is_inter()) {
        const Words theirs = exchange_with_remote(own, places_in(*own.group, g.world));
        remote = ranks_at(*own.remote, theirs);
      }
      return create_comm(own, g.world, std::move(remote));
    }));
  });
}

RMQ_MPI(int, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    const Group& g = group_arg(group);
    tag_arg(tag);
    check_subset(g, c);
    if (g.rank != MPI_UNDEFINED) *newcomm = create_group(c, g, tag);
  });
}

}  // namespace rmq::mpi
