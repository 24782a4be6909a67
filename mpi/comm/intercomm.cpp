// Chapter 7.6: inter-communicators.
#include <fmt/format.h>

#include "mpi/internal/comms.hpp"

namespace rmq::mpi {
namespace {

// Tags of leaders who meet in a peer communicator: beside those of MPI_Comm_create_group.
constexpr int kLeaderTags = 1 << 30;

using Words = std::vector<std::uint64_t>;

/// All members of `c`, the leader first.
Party party_behind(Comm& c, int leader) {
  Party p{c, {}, (c.rank - leader + c.size()) % c.size(), next_collective_tag(c)};
  for (int i = 0; i < c.size(); ++i) p.ranks.push_back((leader + i) % c.size());
  return p;
}

}  // namespace

MPI_Comm create_intercomm(Comm& local, int leader, const Bridge& bridge) {
  const auto party = [&] { return party_behind(local, leader); };
  const Ranks& mine = local.group->world;
  const Words theirs = exchange(party(), bridge, Words(mine.begin(), mine.end()));
  std::vector<Rank> remote;
  for (const std::uint64_t w : theirs) remote.push_back(static_cast<Rank>(w));
  for (const Rank r : remote) {
    if (local.group->place_of(r) != MPI_UNDEFINED) {
      fail_call(MPI_ERR_COMM, fmt::format("the two groups overlap: world rank {} is in both", r));
    }
  }
  const auto contexts = agree_on_contexts(party(), bridge, 2);
  retain(*local.group);
  return new_comm(local,
                  NewComm{contexts[0], local.group, new_group(std::move(remote), local.group->session), contexts[1]})
      ->handle;
}

namespace {

/// Whether the local group comes first in the merged one: low before high, and else by the world rank of the first.
bool goes_first(const Comm& c, bool high, bool remote_high) {
  if (high != remote_high) return !high;
  return c.group->world[0] < c.remote->world[0];
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
  return new_comm(c, NewComm{contexts[0], new_group(std::move(world), c.group->session)})->handle;
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
