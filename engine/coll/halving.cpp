// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/halving.hpp"

#include <bit>

namespace rmq::mpi::coll {

Fold::Fold(int ranks, int rank)
    : members_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
      pairs_(ranks - members_),
      folded_(rank < 2 * pairs_),
      member_(!folded_        ? rank - pairs_
              : rank % 2 == 1 ? rank / 2
                              : -1) {}

Halving::Halving(Steps& s, const Reduction& r)
    : s_(s),
      r_(r),
      fold_(s.size(), s.rank()),
      // What the neighbour sends, or the longest half: the first blocks are those that have an element more.
      spare_(fold_.member() < 0        ? 0
             : fold_.takes_neighbour() ? r.count
                                       : start(fold_.members() / 2),
             r.type) {}

// Each step gives half of the blocks to the one half of the members: so a member ends with the block whose number is
// its own, bits reversed.
int Halving::block_of(int member) const {
  int block = 0;
  for (int bit = fold_.members() / 2; bit > 0; bit /= 2, member /= 2)
    if (member % 2 == 1) block += bit;
  return block;
}

MPI_Count Halving::start(int block) const {
  const MPI_Count each = r_.count / fold_.members(), more = r_.count % fold_.members();
  return block * each + std::min<MPI_Count>(block, more);
}

Buffer Halving::blocks(const void* vector, int first, int last) const {
  return part(buffer_of(r_, vector), start(first), start(last) - start(first));
}

void Halving::reduce_scatter(const void* in, void* vector) {
  if (fold_.member() < 0) return s_.send(s_.rank() + 1, buffer_of(r_, in));
  // Until something has been combined, mine is where the caller has it: what arrives first goes straight into `vector`.
  const void* mine = in;
  if (fold_.takes_neighbour()) {
    void* const arrived = mine == vector ? spare_.origin() : vector;
    s_.recv(s_.rank() - 1, buffer_of(r_, arrived));
    combine(r_, arrived == vector ? mine : arrived, vector);
    mine = vector;
  }
  const int me = fold_.member();
  int first = 0;
  for (int distance = 1, half = fold_.members() / 2; half > 0; distance *= 2, half /= 2) {
    const bool upper = me & distance;
    const int keep = upper ? first + half : first, give = upper ? first : first + half;
    const Buffer kept = blocks(vector, keep, keep + half);
    const Buffer arrived = mine == vector ? Buffer{spare_.origin(), kept.count, kept.type} : kept;
    const int peer = fold_.rank_of(me ^ distance);
    s_.exchange(peer, blocks(mine, give, give + half), peer, arrived);
    combine(r_, mine == vector ? arrived.data : blocks(mine, keep, keep + half).data, kept.data, kept.count);
    mine = vector;
    first = keep;
  }
}

void Halving::allgather(void* vector) {
  const int me = fold_.member();
  if (me < 0) return s_.recv(s_.rank() + 1, buffer_of(r_, vector));
  int mine = block_of(me);
  for (int distance = fold_.members() / 2, have = 1; distance > 0; distance /= 2, have *= 2) {
    const int theirs = mine ^ have;
    const int peer = fold_.rank_of(me ^ distance);
    s_.exchange(peer, blocks(vector, mine, mine + have), peer, blocks(vector, theirs, theirs + have));
    mine = std::min(mine, theirs);
  }
  if (fold_.takes_neighbour()) s_.send(s_.rank() - 1, buffer_of(r_, vector));
}

void Halving::gather(void* vector, int root) {
  const int me = fold_.member();
  if (s_.rank() != root) {
    if (me >= 0) s_.send(root, blocks(vector, block_of(me), block_of(me) + 1));
    return;
  }
  Batch in(s_);
  for (int member = 0; member < fold_.members(); ++member) {
    const int block = block_of(member);
    if (member != me) in.recv(fold_.rank_of(member), blocks(vector, block, block + 1));
  }
  in.finish();
}

}  // namespace rmq::mpi::coll
