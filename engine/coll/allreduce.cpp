// SPDX-License-Identifier: BSD-3-Clause
// Reduction of n bytes on p ranks to all (a: latency, b: time a byte, c: time to combine a byte).
//
//   flat      to rank 0 and back: two turns at the CPU for each rank. For ranks that share CPUs. Groups operands as
//             doubling does, so that the bits of a short vector do not depend on how busy the host is.
//   batch     everybody to everybody, and each combines all, grouped likewise: one turn at the CPU for each rank.
//   tree      up a binomial tree to one rank and down again: 2 log2(p) (a + n b) + log2(p) n c, but only 2 (p-1)
//             messages and waits in all. For more ranks that share CPUs. Groups operands as doubling does.
//   doubling  recursive doubling: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
//             operations in MPICH", 2005. log2(p) (a + n b + n c). Both partners combine lower ranks' op higher ranks',
//             so operands keep their order, and all ranks have the same bits.
//   halving   recursive halving and doubling: R. Rabenseifner, 2004. 2 log2(p) a + 2 n b + n c.
//   ring      P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
//             2 (p-1) a + 2 (p-1)/p n b + (p-1)/p n c, whatever p.
//   board     in memory that all share, up to 48 bytes: board.hpp.
//   hosts     up to each host's first rank, any of these between those, and down again.
//
// In halving and ring each block is combined by one rank and copied to the others. Both are for predefined operations.
#include <bit>

#include "engine/coll/choice.hpp"
#include "engine/coll/combine.hpp"
#include "engine/coll/halving.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/meeting.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

void double_up(Steps& s, const Reduction& r, const void* in, void* result) {
  const Fold fold(s.size(), s.rank());
  if (fold.member() < 0) {
    s.send(s.rank() + 1, buffer_of(r, in));
    return s.recv(s.rank() + 1, buffer_of(r, result));
  }
  const bool exact = order_of(r).commutes, joins = join_pays(r);
  Vectors memory(r.count, r.type);
  void* mine = result;
  void* spare = memory.origin();
  // If it may stand on the right, what arrives first goes straight into the result, and mine is combined with it there.
  bool fresh = exact && in != result;
  if (!fresh) s.note(copy_local(buffer_of(r, result), buffer_of(r, in)));
  if (fold.takes_neighbour()) {
    s.recv(s.rank() - 1, buffer_of(r, fresh ? result : spare));
    combine(r, fresh ? in : spare, result);
    fresh = false;
  }
  for (int distance = 1; distance < fold.members(); distance *= 2) {
    const int other = fold.member() ^ distance;
    const int peer = fold.rank_of(other);
    if (fresh) {
      s.exchange(peer, buffer_of(r, in), peer, buffer_of(r, result));
      combine(r, in, result);
      fresh = false;
      continue;
    }
    const bool in_order = exact || other < fold.member();  // what arrives may stand on the left
    Request* out = s.start_send(peer, buffer_of(r, mine));
    if (!out && joins && in_order) {  // my vector has left, so what arrives may change it
      s.finish_recv(s.start_join(peer, buffer_of(r, mine), r.op.builtin));
      continue;
    }
    s.recv(peer, buffer_of(r, spare));
    if (out) s.finish_send(out);
    if (in_order) {
      combine(r, spare, mine);
    } else {
      combine(r, mine, spare);
      std::swap(mine, spare);
    }
  }
  if (fold.takes_neighbour()) s.send(s.rank() - 1, buffer_of(r, mine));
  s.note(copy_local(buffer_of(r, result), buffer_of(r, mine)));
}

void climb_tree(Steps& s, const Reduction& r, const void* in, void* result) {
  const Fold fold(s.size(), s.rank());
  const int me = fold.member();
  if (me < 0) {
    s.send(s.rank() + 1, buffer_of(r, in));
    return s.recv(s.rank() + 1, buffer_of(r, result));
  }
  const bool exact = order_of(r).commutes, leaf = me % 2 == 1;
  Vectors memory(leaf && !fold.takes_neighbour() ? 0 : r.count, r.type);
  void* mine = result;
  void* spare = memory.origin();
  if (in != result) s.note(copy_local(buffer_of(r, result), buffer_of(r, in)));
  if (fold.takes_neighbour()) {
    s.recv(s.rank() - 1, buffer_of(r, spare));
    combine(r, spare, mine);
  }
  int bit = 1;
  for (; bit < fold.members() && !(me & bit); bit *= 2) {
    s.recv(fold.rank_of(me + bit), buffer_of(r, spare));
    if (exact) {
      combine(r, spare, mine);
    } else {
      combine(r, mine, spare);
      std::swap(mine, spare);
    }
  }
  if (me != 0) {
    const int parent = fold.rank_of(me - bit);
    s.send(parent, buffer_of(r, mine));
    s.recv(parent, buffer_of(r, result));
  } else {
    s.note(copy_local(buffer_of(r, result), buffer_of(r, mine)));
  }
  Batch down(s);
  while ((bit /= 2) > 0) down.send(fold.rank_of(me + bit), buffer_of(r, result));
  if (fold.takes_neighbour()) down.send(s.rank() - 1, buffer_of(r, result));
  down.finish();
}

void circle(Steps& s, const Reduction& r, const void* in, void* result) {
  const int p = s.size(), me = s.rank();
  const int right = (me + 1) % p, left = (me + p - 1) % p;
  const MPI_Count each = r.count / p, more = r.count % p;
  const auto block = [&](const void* vector, int i) {
    const MPI_Count first = i * each + std::min<MPI_Count>(i, more);
    return part(buffer_of(r, vector), first, each + (i < more ? 1 : 0));
  };
  const bool in_place = in == result;
  Vectors memory(in_place ? each + 1 : 0, r.type);
  for (int step = 0; step < p - 1; ++step) {
    const int i = (me - step - 1 + p) % p;
    const Buffer sum = block(result, i);
    // Sums of the blocks that arrived travel on; only the first to leave is mine alone.
    const Buffer out = block(step == 0 ? in : result, (me - step + p) % p);
    if (in_place) {
      s.exchange(right, out, left, {memory.origin(), sum.count, sum.type});
      combine(r, memory.origin(), sum.data, sum.count);
    } else {
      s.exchange(right, out, left, sum);
      combine(r, block(in, i).data, sum.data, sum.count);
    }
  }
  for (int step = 0; step < p - 1; ++step) {
    s.exchange(right, block(result, (me + 1 - step + p) % p), left, block(result, (me - step + p) % p));
  }
}

void tell_all(Steps& s, const Reduction& r, const void* in, void* out) {
  const int p = s.size(), me = s.rank();
  Batch sends(s);
  for (int i = 1; i < p; ++i) sends.send((me + i) % p, buffer_of(r, in));
  reduce_here(s, r, in, out, Grouping::doubling, &sends);
}

/// Whether it can go by hosts, to a result of the same bits.
bool can_go_by_hosts(const Steps& s, const Reduction& r) {
  return has_levels(s) && (order_of(r).free || levels_of(s.comm()).aligned);
}

// Up a tree inside of each host, among the hosts' first ranks, and down.
void by_hosts(Steps& s, const Reduction& r, const void* in, void* out) {
  const Levels& l = levels_of(s.comm());
  const Part inside{l.mine}, between{l.firsts};
  Steps here(s, inside, l.me);
  reduce_to(here, r, in, out, 0);
  if (l.me == 0) {
    Steps there(here, between, l.host);
    allreduce_to(there, r, out, out);
    here.note(there.error());
  }
  bcast_to(here, buffer_of(r, out), 0);
  s.note(here.error());
}

}  // namespace

void allreduce_to(Steps& s, const Reduction& r, const void* in, void* out) {
  if (s.size() == 1) return s.note(copy_local(buffer_of(r, out), buffer_of(r, in)));
  const Set cuts = may_cut(r) && r.count >= s.size() ? set_of({Algorithm::halving, Algorithm::ring}) : 0;
  constexpr Set kAlways = set_of({Algorithm::flat, Algorithm::batch, Algorithm::tree, Algorithm::doubling});
  switch (choose(s, Collective::allreduce, bytes_of(r), kAlways | cuts | hosts_if(can_go_by_hosts(s, r)))) {
    case Algorithm::hosts:
      return by_hosts(s, r, in, out);
    case Algorithm::flat:
      reduce_flat(s, r, in, out, 0, Grouping::doubling);
      return bcast_flat(s, buffer_of(r, out), 0);
    case Algorithm::batch:
      return tell_all(s, r, in, out);
    case Algorithm::tree:
      return climb_tree(s, r, in, out);
    case Algorithm::doubling:
      return double_up(s, r, in, out);
    case Algorithm::ring:
      return circle(s, r, in, out);
    default:
      break;
  }
  Halving h(s, r);
  h.reduce_scatter(in, out);
  h.allgather(out);
}

int allreduce(Comm& comm, const void* in, void* out, const Reduction& r) {
  if (comm.is_inter()) [[unlikely]]
    return inter::allreduce(comm, in, out, r);
  const void* const from = is_in_place(in) ? out : in;
  if (const auto error = meet(comm, from, out, r)) return *error;
  Steps s(comm);
  allreduce_to(s, r, from, out);
  return s.error();
}

}  // namespace rmq::mpi::coll
