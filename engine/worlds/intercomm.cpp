// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worlds/intercomm.hpp"

#include <optional>
#include <span>
#include <utility>

#include "engine/comm/together.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/bonds.hpp"
#include "engine/worlds/introduce.hpp"

namespace rmq::mpi {
namespace {

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

}  // namespace rmq::mpi
