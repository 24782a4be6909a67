// SPDX-License-Identifier: BSD-3-Clause
// Barrier.
//
//   dissemination  D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
//                  ceil(log2 p) rounds; in each, every rank sends and receives one empty message.
//   tree           up a tree of kFlatRanks branches and down again: 2 messages a rank, two waits for all but the top,
//                  hence about one turn at the CPU for each rank where ranks share CPUs.
//   batch          everybody tells everybody: p - 1 messages a rank, one wait. For a few ranks that share CPUs.
//   board          in memory that all share: board.hpp.
//   hosts          any of these between the first ranks of all hosts, which the others of a host tell and hear from, by
//                  messages or in memory that they share (release_gather.hpp).
#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/meeting.hpp"
#include "engine/coll/shared.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

void disseminate(Steps& s) {
  const int p = s.size(), me = s.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    const int to = me + distance < p ? me + distance : me + distance - p;
    const int from = me >= distance ? me - distance : me - distance + p;
    s.exchange(to, nothing(), from, nothing());
  }
}

void climb_tree(Steps& s) {
  const std::int64_t p = s.size(), me = s.rank();
  const std::int64_t first = me * kFlatRanks + 1;  // my children: [first, last)
  const std::int64_t last = std::min<std::int64_t>(first + kFlatRanks, p);
  if (first < last && s.device().config().dest_ops && s.may_join_any()) {
    // One receive takes all the children's empty messages (*join*): there is nothing to tell them apart by.
    s.finish_recv(s.start_join(MPI_ANY_SOURCE, nothing(), ReduceOp::bor, static_cast<int>(last - first)));
  } else {
    Batch up(s);
    for (std::int64_t child = first; child < last; ++child) up.recv(static_cast<int>(child), nothing());
    up.finish();
  }
  if (me > 0) {
    const int parent = static_cast<int>((me - 1) / kFlatRanks);
    s.send(parent, nothing());
    s.recv(parent, nothing());
  }
  Batch down(s);
  for (std::int64_t child = first; child < last; ++child) down.send(static_cast<int>(child), nothing());
  down.finish();
}

void tell_all(Steps& s) {
  const int p = s.size(), me = s.rank();
  for (int i = 1; i < p; ++i) s.send(me + i < p ? me + i : me + i - p, nothing());
  if (s.device().config().dest_ops && s.may_join_any()) {
    s.finish_recv(s.start_join(MPI_ANY_SOURCE, nothing(), ReduceOp::bor, p - 1));
  } else {
    Batch in(s);
    for (int i = 1; i < p; ++i) in.recv(me + i < p ? me + i : me + i - p, nothing());
    in.finish();
  }
}

constexpr Set kAlways = set_of({Algorithm::batch, Algorithm::tree, Algorithm::dissemination});

// Inside of a host, everybody tells its first rank …
void tell_first(Steps& in, Shared* shared) {
  if (shared) return shared->gather(in, nothing(), Blocks::uniform(nullptr, 0, byte_type()), 0);
  if (in.rank() > 0) return in.send(0, nothing());
  Batch up(in);
  for (int i = 1; i < in.size(); ++i) up.recv(i, nothing());
  up.finish();
}

// … and hears from it.
void hear_from_first(Steps& in, Shared* shared) {
  if (shared) return shared->bcast(in, nothing(), 0);
  if (in.rank() > 0) return in.recv(0, nothing());
  Batch down(in);
  for (int i = 1; i < in.size(); ++i) down.send(i, nothing());
  down.finish();
}

void by_hosts(Steps& s) {
  const Levels& l = levels_of(s.comm());
  const Part inside{l.mine}, between{l.firsts};
  Steps in(s, inside, l.me);
  const Set possible = kAlways | board_if(in, Collective::barrier, true);
  Shared* const shared =
      choose(in, Collective::barrier, 0, possible) == Algorithm::board ? s.comm().shared.get() : nullptr;
  tell_first(in, shared);
  if (l.me == 0) {
    Steps out(in, between, l.host);
    barrier_to(out);
    in.note(out.error());
  }
  hear_from_first(in, shared);
  s.note(in.error());
}

}  // namespace

void barrier_to(Steps& s) {
  if (s.size() == 1) return;
  using enum Algorithm;
  switch (choose(s, Collective::barrier, 0, kAlways | hosts_if(has_levels(s)))) {
    case hosts:
      return by_hosts(s);
    case batch:
      return tell_all(s);
    case tree:
      return climb_tree(s);
    default:
      return disseminate(s);
  }
}

int barrier(Comm& comm) {
  if (comm.is_inter()) [[unlikely]]
    return inter::barrier(comm);
  if (const auto error = meet(comm)) return *error;
  Steps s(comm);
  barrier_to(s);
  return s.error();
}

}  // namespace rmq::mpi::coll
