// Chapter 7.6: inter-communicators.
#include <fmt/format.h>

#include "mpi/dynamic/bonds.hpp"
#include "mpi/dynamic/introduce.hpp"
#include "mpi/internal/comms.hpp"

namespace rmq::mpi {
namespace {

// Tags of leaders who meet in a peer communicator: beside those of MPI_Comm_create_group.
constexpr int kLeaderTags = 1 << 30;

using Words = std::vector<std::uint64_t>;

}  // namespace

MPI_Comm create_intercomm(Comm& local, int leader, const Bridge& bridge, std::unique_ptr<Line> line) {
  Introduction met = introduce(local, leader, bridge);
  // Before anybody can part again.
  if (met.party && local.rank == leader) tell_bond(*met.party, met.other_job);
  const auto contexts = agree_on_contexts(party_behind(local, leader), met.bridge(bridge), 2);
  if (met.party && line) met.party->tie(std::move(line), met.other_job);
  retain(*local.group);
  NewComm made{contexts[0], local.group, new_group(std::move(met.remote), local.group->session),
               contexts[1], met.terms,   contexts.traits};
  return new_comm(local, made)->handle;
}

namespace {

/// Whether the local group comes first in the merged one: low before high, and else by job and world rank of the first.
bool goes_first(const Comm& c, bool high, bool remote_high) {
  if (high != remote_high) return !high;
  const Process ours = c.device->MPID_Who(c.group->world[0]), theirs = c.device->MPID_Who(c.remote->world[0]);
  return std::pair(ours.job, ours.rank) < std::pair(theirs.job, theirs.rank);
}

MPI_Comm merge(Comm& c, bool high) {
  note_collective(c);
  const Words remote_high = exchange(whole_party(c), bridge_of(c), Words{high ? 1u : 0u});
  const auto contexts = agree_on_contexts(whole_party(c), bridge_of(c), 1);
  const bool first = goes_first(c, high, remote_high[0] != 0);
  const Group& before = first ? *c.group : *c.remote;
  const Group& after = first ? *c.remote : *c.group;
  std::vector<Rank> world = before.world.list();
  world.insert(world.end(), after.world.begin(), after.world.end());
  NewComm made{contexts[0], new_group(std::move(world), c.group->session)};
  made.traits = contexts.traits;
  return new_comm(c, made)->handle;
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
    *newintercomm = create_intercomm(local, local_leader, bridge);
  });
}

RMQ_MPI(int, Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm)) {
  return enter(intercomm, [&](Comm& c) {
    out(newintracomm, "newintracomm");
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument intercomm is no inter-communicator");
    *newintracomm = merge(c, high != 0);
  });
}

}  // namespace rmq::mpi
