// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.6: inter-communicators.
#include "engine/worlds/intercomm.hpp"

#include <fmt/format.h>

#include <utility>

#include "engine/comm/together.hpp"
#include "engine/object/deaths.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

// Tags of leaders who meet in a peer communicator: beside those of MPI_Comm_create_group.
constexpr int kLeaderTags = 1 << 30;

using Words = std::vector<std::uint64_t>;

/// Whether the local group comes first in the merged one: low before high, and else by job and world rank of the first.
bool goes_first(const Comm& c, bool high, bool remote_high) {
  if (high != remote_high) return !high;
  const Process ours = c.device->process_of(c.group->world[0]), theirs = c.device->process_of(c.remote->world[0]);
  return std::pair(ours.job, ours.rank) < std::pair(theirs.job, theirs.rank);
}

Comm* merge(Comm& c, bool high) {
  const Words remote_high = exchange_with_remote(c, Words{high ? 1u : 0u});
  const auto contexts = agree_on_contexts(everyone_of(c), 1);
  const bool first = goes_first(c, high, remote_high[0] != 0);
  const Group& before = first ? *c.group : *c.remote;
  const Group& after = first ? *c.remote : *c.group;
  std::vector<Rank> world = before.world.list();
  world.insert(world.end(), after.world.begin(), after.world.end());
  NewComm made{contexts[0], new_group(std::move(world), c.group->session)};
  made.traits = contexts.traits;
  return new_comm(c, made);
}

}  // namespace

RMQ_MPI(int, Intercomm_create,
        (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
         MPI_Comm* newintercomm)) {
  return enter(local_comm, [&](Comm& local) {
    out(newintercomm, "newintercomm");
    if (local.is_inter()) fail_call(MPI_ERR_COMM, "argument local_comm is an inter-communicator");
    if (local_leader < 0 || local_leader >= local.size()) detail::bad_rank(local, local_leader, "local_leader");
    tag_arg(tag);
    Bridge bridge{true, nullptr, remote_leader, kLeaderTags | tag};
    if (local.rank == local_leader) {
      Comm& peer = comm_arg(peer_comm, "peer_comm");
      if (remote_leader < 0 || remote_leader >= peer.remote_size()) {
        detail::bad_rank(peer, remote_leader, "remote_leader");
      }
      if (peer.world_of(remote_leader) == runtime().device->rank()) {
        fail_call(MPI_ERR_RANK, "local_leader and remote_leader are the same process");
      }
      bridge.comm = &peer;
    }
    try {
      *newintercomm = create_intercomm(local, local_leader, bridge);
    } catch (Failure& f) {
      if (bridge.comm && f.object == bridge.comm->handle) f.object = local.handle;  // whose error handler is meant
      throw;
    }
  });
}

RMQ_MPI(int, Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm)) {
  return enter(intercomm, [&](Comm& c) {
    out(newintracomm, "newintracomm");
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument intercomm is no inter-communicator");
    note_collective(c);
    *newintracomm = ft::make_together(c, [&](Comm& own) { return merge(own, high != 0); })->handle;
  });
}

}  // namespace rmq::mpi
