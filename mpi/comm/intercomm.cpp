// Chapter 7.6: inter-communicators.
#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "mpi/dynamic/bonds.hpp"
#include "mpi/dynamic/introduce.hpp"
#include "mpi/ft/failures.hpp"
#include "mpi/ft/together.hpp"
#include "mpi/internal/comms.hpp"

namespace rmq::mpi {
namespace {

// Tags of leaders who meet in a peer communicator: beside those of MPI_Comm_create_group.
constexpr int kLeaderTags = 1 << 30;

using Words = std::vector<std::uint64_t>;

/// Contexts for both sides, told from leader to leader. Where ranks die, who fails ends it for the others, so that
/// there is no need for rounds in which they hear of it (ContextAgreement).
Contexts agree_across(Comm& own, int leader, const Bridge& bridge, const Order& order) {
  ContextTurn turn(order, true);
  Contexts contexts;
  Words words(ContextTurn::kWords);
  const auto round = [&] { return std::span<std::uint64_t, ContextTurn::kWords>(words); };
  do {
    turn.offer(round());
    and_all(party_behind(own, leader), words);
    const Words theirs = exchange(party_behind(own, leader), bridge, words);
    if (theirs.size() != words.size()) fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
    for (std::size_t i = 0; i < words.size(); ++i) words[i] &= theirs[i];
  } while (!turn.end_round(round(), 2, false, contexts));
  if (contexts.list.empty()) fail_call(MPI_ERR_OTHER, kNoContextLeft);
  return contexts;
}

/// What two sides make their communicator with.
struct Meeting {
  Introduction who;
  Contexts contexts;
};

NewComm comm_of(const Comm& local, Meeting& met) {
  retain(*local.group);
  return {met.contexts[0], local.group,   new_group(std::move(met.who.remote), local.group->session),
          met.contexts[1], met.who.terms, met.contexts.traits};
}

/// All members here were well, and the leader has died: nobody knows what it has told the other side, which may have
/// the communicator. Then these are members that will never say a word there: it is revoked, and they refuse whatever
/// the others come to agree on.
void stay_away(const Comm& local, Meeting& met) {
  Comm* const never = new_comm(local, comm_of(local, met));
  ft::circle_of(*never).revoke();
  ft::circle_of(*never).refuse();
  ft::keep_refusing(*never);
}

MPI_Comm come_together(Comm& local, int leader, ft::Together& ours, const std::function<Way(Comm& own)>& reach) {
  Way way;
  Meeting met;
  bool over = true;  // nothing is said between the leaders, as they have not met, or any more
  ours.run([&] {
    way = reach(ours.own());
    way.bridge.over = &over;
    over = false;
    met.who = introduce(ours.own(), leader, way.bridge);
    if (met.who.party) {
      Words strangers;
      // Before anybody can part again.
      if (local.rank == leader) strangers = tell_bond(*met.who.party);
      if (ft::may_fail() && met.who.by_line) {  // of its own jobs the launcher tells itself
        broadcast(party_behind(ours.own(), leader), strangers);
        std::erase_if(met.who.beyond,
                      [&](std::uint64_t job) { return std::ranges::find(strangers, job) == strangers.end(); });
      }
    }
    met.contexts = agree_across(ours.own(), leader, way.bridge, met.who.order);
  });
  const bool well = ours.agree();
  int error = MPI_SUCCESS;
  if (local.rank == leader) {
    const Failure why{ours.error_class(), {}};
    way.bridge.over = &over;
    error = settle(way.bridge, well ? nullptr : &why);
  }
  const bool all_well = ours.hear(leader, error);
  if (!all_well && ft::may_fail()) {
    if (well && ours.has_lost(leader)) stay_away(local, met);
    if (met.who.party) set_adrift(*met.who.party);
  } else if (ft::may_fail()) {
    tie_again(met.who.remote, local.rank == leader);
  }
  // What the other side may take for a communicator's is not used again.
  ours.conclude(all_well, [] {});
  if (met.who.party && met.who.by_line) met.who.party->set_root(local.world_of(leader), met.who.beyond);
  if (met.who.party && way.line) met.who.party->tie(std::move(way.line), met.who.beyond);
  return new_comm(local, comm_of(local, met))->handle;
}

}  // namespace

MPI_Comm create_intercomm(Comm& local, int leader, const std::function<Way(Comm& own)>& reach) {
  ft::Together ours(local);
  return come_together(local, leader, ours, reach);
}

MPI_Comm create_intercomm(Comm& local, int leader, const Bridge& bridge) {
  std::optional<ft::Together> ours;
  try {
    ours.emplace(local);
  } catch (const Failure& f) {
    if (local.rank == leader) static_cast<void>(settle(bridge, &f));  // the other side waits for this one
    throw;
  }
  return come_together(local, leader, *ours, [&](Comm&) { return Way{bridge, nullptr}; });
}

namespace {

/// Whether the local group comes first in the merged one: low before high, and else by job and world rank of the first.
bool goes_first(const Comm& c, bool high, bool remote_high) {
  if (high != remote_high) return !high;
  const Process ours = c.device->MPID_Who(c.group->world[0]), theirs = c.device->MPID_Who(c.remote->world[0]);
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
