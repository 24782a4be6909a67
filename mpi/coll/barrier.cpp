// Barrier.
//
//   dissemination  D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
//                  ceil(log2 p) rounds; in each, every rank sends and receives one empty message.
//   tree           up a tree of kFlatRanks branches and down again: 2 messages a rank, two waits for all but the top,
//                  hence about one turn at the CPU for each rank where ranks share CPUs.
//   batch          everybody tells everybody: p - 1 messages a rank, one wait. For a few ranks that share CPUs.
#include "mpi/coll/choice.hpp"
#include "mpi/coll/coll.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/meeting.hpp"
#include "mpi/coll/stages.hpp"

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
  if (first < last && s.device().config().dest_ops) {
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
  if (s.device().config().dest_ops && !s.repeats()) {
    s.finish_recv(s.start_join(MPI_ANY_SOURCE, nothing(), ReduceOp::bor, p - 1));
  } else {
    Batch in(s);
    for (int i = 1; i < p; ++i) in.recv(me + i < p ? me + i : me + i - p, nothing());
    in.finish();
  }
}

}  // namespace

void barrier_to(Steps& s) {
  if (s.size() == 1) return;
  const Algorithm wish = without_board(s.terms().forced().barrier);
  const bool shared = wish == Algorithm::automatic && s.size() > 2 && s.terms().crowded();
  if (wish == Algorithm::batch || (shared && s.size() <= kBatchRanks)) {
    tell_all(s);
  } else if (wish == Algorithm::tree || shared) {
    climb_tree(s);
  } else {
    disseminate(s);
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
