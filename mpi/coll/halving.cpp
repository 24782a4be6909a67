#include "mpi/coll/halving.hpp"

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
  for (int half = fold_.members() / 2; half > 0; half /= 2) {
    const bool upper = me & half;
    const int keep = upper ? first + half : first, give = upper ? first : first + half;
    const Buffer kept = blocks(vector, keep, keep + half);
    const Buffer arrived = mine == vector ? Buffer{spare_.origin(), kept.count, kept.type} : kept;
    const int peer = fold_.rank_of(me ^ half);
    s_.exchange(peer, blocks(mine, give, give + half), peer, arrived);
    combine(r_, mine == vector ? arrived.data : blocks(mine, keep, keep + half).data, kept.data, kept.count);
    mine = vector;
    first = keep;
  }
}

void Halving::allgather(void* vector) {
  const int me = fold_.member();
  if (me < 0) return s_.recv(s_.rank() + 1, buffer_of(r_, vector));
  for (int have = 1; have < fold_.members(); have *= 2) {
    const int mine = me & ~(have - 1), theirs = mine ^ have;
    const int peer = fold_.rank_of(me ^ have);
    s_.exchange(peer, blocks(vector, mine, mine + have), peer, blocks(vector, theirs, theirs + have));
  }
  if (fold_.takes_neighbour()) s_.send(s_.rank() - 1, buffer_of(r_, vector));
}

void Halving::gather(void* vector, int root) {
  const int me = fold_.member();
  if (s_.rank() != root) {
    if (me >= 0) s_.send(root, blocks(vector, me, me + 1));
    return;
  }
  Batch in(s_);
  for (int member = 0; member < fold_.members(); ++member) {
    if (member != me) in.recv(fold_.rank_of(member), blocks(vector, member, member + 1));
  }
  in.finish();
}

}  // namespace rmq::mpi::coll
