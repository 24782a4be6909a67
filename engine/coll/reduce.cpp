// SPDX-License-Identifier: BSD-3-Clause
// Reduction of n bytes on p ranks to one (a: latency, b: time a byte, c: time to combine a byte).
//
//   flat      all send to the root: p a + p n (b + c) at the root, one turn at the CPU for every other rank. Where the
//   order
//             of operands cannot matter, the device combines the messages as they arrive (*join*).
//   binomial  log2(p) (a + n b + n c).
//   halving   reduce-scatter by recursive halving, then the blocks go to the root: R. Rabenseifner, "Optimization of
//             collective reduction operations", 2004. (log2(p) + p) a + 2 n b + n c; for predefined operations.
//   board     to the root in memory that all share (release_gather.hpp): p n c at the root, which the others do not
//             wait for.
//   hosts     any of these inside of each host, and then between them, the root in its host's place.
//
// Flat, binomial and board group operands alike, counted from the root on, or from the first rank where the operation
// does not commute. The order is the same in every run for all, but for joins of exact numbers, where it makes no
// difference.
#include <bit>
#include <vector>

#include "engine/coll/choice.hpp"
#include "engine/coll/combine.hpp"
#include "engine/coll/halving.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/shared.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

// Up to here a tree serves, or what groups operands like one, whatever p (choice.def).
constexpr std::uint64_t kShort = 16 * 1024;

}  // namespace

Buffer combine_pairs(const Reduction& r, std::vector<Buffer>& operands, Grouping grouping) {
  const auto combine_into = [&](std::size_t left, std::size_t right) {
    combine(r, operands[left].data, operands[right].data);
    operands[left] = operands[right];
  };
  if (grouping == Grouping::doubling) {  // what Fold does: the first ranks in pairs, until a power of two is left
    const std::size_t pairs = operands.size() - std::bit_floor(operands.size());
    for (std::size_t i = 0; i < pairs; ++i) combine_into(2 * i, 2 * i + 1);
    for (std::size_t i = 1; i < pairs; ++i) operands[i] = operands[2 * i];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(pairs),
                   operands.begin() + static_cast<std::ptrdiff_t>(2 * pairs));
  }
  for (std::size_t distance = 1; distance < operands.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < operands.size(); i += 2 * distance) combine_into(i, i + distance);
  }
  return operands.front();
}

void reduce_flat(Steps& s, const Reduction& r, const void* in, void* out, int root, Grouping grouping) {
  if (s.rank() != root) return s.send(root, buffer_of(r, in));
  reduce_here(s, r, in, out, grouping, nullptr);
}

void reduce_here(Steps& s, const Reduction& r, const void* in, void* out, Grouping grouping, Batch* sends) {
  const int p = s.size(), me = s.rank();
  const Buffer mine = buffer_of(r, out);
  const bool sent = !sends || sends->empty();
  if (sent && may_join(r) && order_of(r).free && s.may_join_any()) {
    s.note(copy_local(mine, buffer_of(r, in)));
    return s.finish_recv(s.start_join(MPI_ANY_SOURCE, mine, r.op.builtin, p - 1));
  }
  Vectors others(r.count, r.type, p - 1);
  std::vector<Buffer> operands(static_cast<std::size_t>(p), mine);
  Batch batch(s);
  const int top = top_of(r, me, grouping);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == me) continue;
    const auto place = static_cast<std::size_t>((rank - top + p) % p);
    batch.recv(rank, operands[place] = others.buffer(rank < me ? rank : rank - 1));
  }
  if (!sent) sends->finish();
  s.note(copy_local(mine, buffer_of(r, in)));
  batch.finish();
  s.note(copy_local(mine, combine_pairs(r, operands, grouping)));
}

namespace {

void reduce_binomial(Steps& s, const Reduction& r, const void* in, void* out, int root) {
  const int p = s.size();
  // The tree of an operation that does not commute stands on rank 0, whose operands come first.
  const int top = top_of(r, root, Grouping::binomial);
  const int me = (s.rank() - top + p) % p;
  const auto at = [&](int i) { return (i + top) % p; };
  const bool is_root = s.rank() == root, leaf = me % 2 == 1 || me + 1 == p;
  const bool join = order_of(r).commutes && join_pays(r);
  Vectors memory(leaf ? 0 : r.count, r.type, 2);
  void* sum = is_root ? out : memory.origin(0);
  void* spare = memory.origin(1);
  const void* mine = in;  // until something has been combined with it: the sum is built where that arrives
  int bit = 1;
  for (; bit < p && !(me & bit); bit *= 2) {
    if (me + bit >= p) continue;
    // One child after the other: operands are grouped alike in every run.
    const int child = at(me + bit);
    if (mine != sum) {
      s.recv(child, buffer_of(r, sum));
      combine(r, mine, sum);
    } else if (join) {
      s.finish_recv(s.start_join(child, buffer_of(r, sum), r.op.builtin));
    } else {
      s.recv(child, buffer_of(r, spare));
      if (r.op.commutative) {
        combine(r, spare, sum);
      } else {
        combine(r, sum, spare);
        std::swap(sum, spare);
      }
    }
    mine = sum;
  }
  if (me != 0) s.send(at(me - bit), buffer_of(r, mine));
  if (top == root) {
    if (is_root) s.note(copy_local(buffer_of(r, out), buffer_of(r, mine)));
  } else if (s.rank() == top) {
    s.send(root, buffer_of(r, mine));
  } else if (is_root) {
    s.recv(top, buffer_of(r, out));
  }
}

/// Whether it can go by hosts, to a result of the same bits.
bool can_go_by_hosts(const Steps& s, const Reduction& r, int root) {
  if (!has_levels(s) || order_of(r).free) return has_levels(s);
  const Levels& l = levels_of(s.comm());
  // A tree on a root counts ranks from there: then hosts' ranks have to begin at places that are multiples, too. And
  // trees and halving group alike for powers of two only.
  const bool tree = bytes_of(r) <= kShort || std::has_single_bit(static_cast<unsigned>(s.size()));
  return tree && l.aligned && root % l.each == 0 && (r.op.commutative || root == 0);
}

// The root stands for its host.
void by_hosts(Steps& s, const Reduction& r, const void* in, void* out, int root) {
  const Levels& l = levels_of(s.comm());
  const int first = std::max(l.mine.place_of(root), 0);
  const bool is_root = s.rank() == root;
  Vectors memory(is_root || l.me != first ? 0 : r.count, r.type);
  void* const sum = is_root ? out : memory.origin();
  const Part inside{l.mine};
  Steps here(s, inside, l.me);
  reduce_to(here, r, in, sum, first);
  s.note(here.error());
  if (l.me != first) return;
  const int host = host_of(s.comm(), root);
  const Part between{l.firsts, host, root};
  Steps there(s, between, l.host);
  reduce_to(there, r, sum, out, host);
  s.note(there.error());
}

}  // namespace

void reduce_to(Steps& s, const Reduction& r, const void* in, void* out, int root) {
  if (s.size() == 1) return s.note(copy_local(buffer_of(r, out), buffer_of(r, in)));
  using enum Algorithm;
  const Set cuts = may_cut(r) && r.count >= s.size() ? set_of(halving) : 0;
  switch (choose(s, Collective::reduce, bytes_of(r),
                 set_of({flat, binomial}) | cuts | hosts_if(can_go_by_hosts(s, r, root)) |
                     board_if(s, Collective::reduce, Shared::can_reduce(r)))) {
    case board:
      return s.comm().shared->reduce(s, r, in, out, root, Grouping::binomial);
    case hosts:
      return by_hosts(s, r, in, out, root);
    case flat:
      return reduce_flat(s, r, in, out, root, Grouping::binomial);
    case binomial:
      return reduce_binomial(s, r, in, out, root);
    default:
      break;
  }
  const bool is_root = s.rank() == root;
  Vectors memory(is_root ? 0 : r.count, r.type);
  void* const sum = is_root ? out : memory.origin();
  Halving h(s, r);
  h.reduce_scatter(in, sum);
  h.gather(sum, root);
}

int reduce(Comm& comm, const void* in, void* out, const Reduction& r, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::reduce(comm, in, out, r, root);
  Steps s(comm);
  reduce_to(s, r, is_in_place(in) ? out : in, out, root);
  return s.error();
}

}  // namespace rmq::mpi::coll
