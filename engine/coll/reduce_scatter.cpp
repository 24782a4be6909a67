// SPDX-License-Identifier: BSD-3-Clause
// Reduction of n bytes on p ranks, of which each rank gets a block (a: latency, b: time a byte, c: time to combine a
// byte).
//
//   flat      to rank 0, which sends out the blocks. Keeps the order of operands; for operations that do not commute,
//   and for
//             ranks that share CPUs.
//   halving   recursive halving: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
//   operations
//             in MPICH", 2005. log2(p) a + (p-1)/p n (b + c); ranks beyond a power of two fold with their neighbours.
//   pairwise  (p-1) a + (p-1)/p n (b + c), whatever p, and only a block of memory.
//
// Blocks are the user's, the same on every rank, so a user's operation may be applied to them apart.
#include <bit>

#include "engine/coll/choice.hpp"
#include "engine/coll/combine.hpp"
#include "engine/coll/halving.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

class Scattered {
 public:
  Scattered(Steps& s, const Reduction& r, const Numbers& counts)
      : s_(s), r_(r), p_(s.size()), me_(s.rank()), start_(static_cast<std::size_t>(p_) + 1) {
    MPI_Count at = 0;
    for (int i = 0; i < p_; ++i) {
      start_[static_cast<std::size_t>(i)] = at;
      at += counts[i];
    }
    start_[static_cast<std::size_t>(p_)] = at;
  }

  void flat(const void* in, void* out) {
    Vectors memory(me_ == 0 ? r_.count : 0, r_.type);
    reduce_to(s_, r_, in, memory.origin(), 0);
    const Buffer mine{out, size(me_), &r_.type};
    if (me_ != 0) return s_.recv(0, mine);
    Batch sends(s_);
    for (int i = 1; i < p_; ++i) sends.send(i, blocks(memory.origin(), i, i + 1));
    s_.note(copy_local(mine, blocks(memory.origin(), 0, 1)));
    sends.finish();
  }

  void halving(const void* in, void* out) {
    const Fold fold(p_, me_);
    Vectors memory(r_.count, r_.type, 2);
    void* const sum = memory.origin(0);
    void* const spare = memory.origin(1);
    const Buffer mine{out, size(me_), &r_.type};
    if (fold.member() < 0) {
      s_.send(me_ + 1, buffer_of(r_, in));
      return s_.recv(me_ + 1, mine);
    }
    s_.note(copy_local(buffer_of(r_, sum), buffer_of(r_, in)));
    if (fold.takes_neighbour()) {
      s_.recv(me_ - 1, buffer_of(r_, spare));
      combine(r_, spare, sum);
    }
    // A member stands for its own block and its neighbour's.
    const auto first_rank = [&](int member) {
      if (member == fold.members()) return p_;
      const int rank = fold.rank_of(member);
      return rank > 0 && Fold(p_, rank).takes_neighbour() ? rank - 1 : rank;
    };
    int first = 0;
    for (int half = fold.members() / 2; half > 0; half /= 2) {
      const bool upper = fold.member() & half;
      const int keep = upper ? first + half : first, give = upper ? first : first + half;
      const Buffer kept = blocks(sum, first_rank(keep), first_rank(keep + half));
      const Buffer theirs = blocks(spare, first_rank(keep), first_rank(keep + half));
      const int peer = fold.rank_of(fold.member() ^ half);
      s_.exchange(peer, blocks(sum, first_rank(give), first_rank(give + half)), peer, theirs);
      combine(r_, theirs.data, kept.data, kept.count);
      first = keep;
    }
    if (fold.takes_neighbour()) s_.send(me_ - 1, blocks(sum, me_ - 1, me_));
    s_.note(copy_local(mine, blocks(sum, me_, me_ + 1)));
  }

  void pairwise(const void* in, void* out) {
    Vectors memory(size(me_), r_.type, 2);
    const Buffer spare = memory.buffer(0), sum = memory.buffer(1);
    s_.note(copy_local(sum, blocks(in, me_, me_ + 1)));
    for (int i = 1; i < p_; ++i) {
      const int to = (me_ + i) % p_, from = (me_ - i + p_) % p_;
      s_.exchange(to, blocks(in, to, to + 1), from, spare);
      combine(r_, spare.data, sum.data, sum.count);
    }
    // Only now: in place, `out` is where the first blocks of `in` are.
    s_.note(copy_local({out, size(me_), &r_.type}, sum));
  }

 private:
  MPI_Count start(int i) { return start_[static_cast<std::size_t>(i)]; }
  MPI_Count size(int i) { return start(i + 1) - start(i); }
  /// Blocks [first, last) of a vector.
  Buffer blocks(const void* vector, int first, int last) {
    return part(buffer_of(r_, vector), start(first), start(last) - start(first));
  }

  Steps& s_;
  const Reduction& r_;
  int p_;
  int me_;
  ScratchArray<MPI_Count> start_;
};

}  // namespace

int reduce_scatter(Comm& comm, const void* in, void* out, const Reduction& r, const Numbers& counts) {
  if (comm.is_inter()) [[unlikely]]
    return inter::reduce_scatter(comm, in, out, r, counts);
  Steps s(comm);
  const void* const from = is_in_place(in) ? out : in;
  if (s.size() == 1) {
    s.note(copy_local(buffer_of(r, out), buffer_of(r, from)));
    return s.error();
  }
  Scattered x(s, r, counts);
  const Set possible =
      set_of(Algorithm::flat) | (r.op.commutative ? set_of({Algorithm::halving, Algorithm::pairwise}) : 0);
  switch (choose(s, Collective::reduce_scatter, bytes_of(r), possible)) {
    case Algorithm::flat:
      x.flat(from, out);
      break;
    case Algorithm::pairwise:
      x.pairwise(from, out);
      break;
    default:
      x.halving(from, out);
  }
  return s.error();
}

}  // namespace rmq::mpi::coll
