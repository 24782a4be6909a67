// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of n bytes to p ranks (a: latency, b: time a byte).
//
//   flat      the root sends to all: p a + p n b at the root, one turn at the CPU for every other rank.
//   binomial  log2(p) (a + n b).
//   scatter   binomial scatter and ring allgather: R. van de Geijn et al., "Interprocessor collective communication
//   library
//             (InterCom)", 1994. (log2(p) + p - 1) a + 2 (p-1)/p n b.
//   bruck     the same scatter, and an allgather as J. Bruck's of 1997 (allgather.cpp), each block in its place at
//             once: 2 log2(p) a + 2 (p-1)/p n b, whatever p.
//   chain     a pipeline of segments through all ranks: J. Worringen, "Pipelining and overlapping for MPI collective
//             operations", 2003. (n/s + p - 2) (a + s b) with segments of s bytes; the least data through each rank.
//   board     in memory that all share (release_gather.hpp): n b at each rank, the root waits for nobody.
//   hosts     any of these between the hosts, the root in its host's place, and then inside of each.
//   trees     a pipeline of segments through two trees (two_trees.hpp, bcast_trees.cpp): (n/s + 2 log2(p)) (a + s b),
//   as
//             each rank passes on what it gets once. Between hosts.
//
// Ranks are counted from the root on. Data of any layout goes packed wherever it is cut.
#include <bit>
#include <optional>

#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/shared.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

// Of the pipeline: long enough for the bandwidth of one message, short enough to stay in a core's cache on the way
// through.
constexpr std::uint64_t kSegment = 128 * 1024;

class Broadcast {
 public:
  Broadcast(Steps& s, int root) : s_(s), p_(s.size()), root_(root), me_((s.rank() - root + p_) % p_) {}

  void binomial(const Buffer& data) {
    int bit = 1;
    for (; bit < p_; bit *= 2) {
      if (me_ & bit) {
        s_.recv(at(me_ - bit), data);
        break;
      }
    }
    Batch out(s_);
    while ((bit /= 2) > 0) {
      if (me_ + bit < p_) out.send(at(me_ + bit), data);
    }
    out.finish();
  }

  /// Blocks [first, last) of p; the last ones may be short or empty.
  Buffer blocks(std::byte* data, std::uint64_t n, int first, int last) const {
    const std::uint64_t block = (n + static_cast<std::uint64_t>(p_) - 1) / static_cast<std::uint64_t>(p_);
    const std::uint64_t from = std::min(static_cast<std::uint64_t>(first) * block, n);
    return raw(data + from, std::min(static_cast<std::uint64_t>(last) * block, n) - from);
  }

  /// To each its block.
  void scatter(std::byte* data, std::uint64_t n) {
    const auto blocks = [&](int first, int last) { return this->blocks(data, n, first, last); };
    int bit = 1;
    for (; bit < p_; bit *= 2) {
      if (me_ & bit) {
        s_.recv(at(me_ - bit), blocks(me_, std::min(me_ + bit, p_)));
        break;
      }
    }
    {
      Batch out(s_);
      while ((bit /= 2) > 0) {
        if (me_ + bit < p_) out.send(at(me_ + bit), blocks(me_ + bit, std::min(me_ + 2 * bit, p_)));
      }
      out.finish();
    }
  }

  /// From each its block, in p - 1 steps between neighbours.
  void circle(std::byte* data, std::uint64_t n) {
    const auto block = [&](int i) { return blocks(data, n, i, i + 1); };
    const int right = at((me_ + 1) % p_), left = at((me_ + p_ - 1) % p_);
    for (int step = 0; step < p_ - 1; ++step)
      s_.exchange(right, block((me_ - step + p_) % p_), left, block((me_ - step - 1 + p_) % p_));
  }

  /// The same in log2(p) steps, each with as many blocks as there are by then: those from the own one on, in a circle.
  void bruck(std::byte* data, std::uint64_t n) {
    for (int have = 1; have < p_; have *= 2) {
      const int count = std::min(have, p_ - have), from = (me_ + have) % p_, to = (me_ - have + p_) % p_;
      Batch batch(s_);
      for_run(me_, count, [&](int first, int last) { batch.send(at(to), blocks(data, n, first, last)); });
      for_run(from, count, [&](int first, int last) { batch.recv(at(from), blocks(data, n, first, last)); });
      batch.finish();
    }
  }

  void chain(std::byte* data, std::uint64_t n) {
    const auto segment = [&](std::uint64_t from) { return raw(data + from, std::min(kSegment, n - from)); };
    const bool sends = me_ + 1 < p_;
    Batch out(s_);
    Request* in = me_ > 0 ? s_.start_recv(at(me_ - 1), segment(0)) : nullptr;
    for (std::uint64_t from = 0; from < n; from += kSegment) {
      if (in) {
        s_.finish_recv(in);
        in = from + kSegment < n ? s_.start_recv(at(me_ - 1), segment(from + kSegment)) : nullptr;
      }
      if (sends) out.send(at(me_ + 1), segment(from));
    }
    out.finish();
  }

 private:
  int at(int i) const { return i + root_ < p_ ? i + root_ : i + root_ - p_; }
  /// f(first, last) for `count` blocks from `first` on, which may go beyond the last and on from the first.
  template <class F>
  void for_run(int first, int count, F&& f) const {
    f(first, std::min(first + count, p_));
    if (first + count > p_) f(0, first + count - p_);
  }

  Steps& s_;
  int p_;
  int root_;
  int me_;  // my place, counted from the root
};

}  // namespace

void bcast_flat(Steps& s, const Buffer& data, int root) {
  if (s.rank() != root) return s.recv(root, data);
  Batch out(s);
  for (int i = 0; i < s.size(); ++i) {
    if (i != root) out.send(i, data);
  }
  out.finish();
}

namespace {

// The root stands for its host.
void by_hosts(Steps& s, const Buffer& data, int root) {
  const Levels& l = levels_of(s.comm());
  const int first = std::max(l.mine.place_of(root), 0);
  if (l.me == first) {
    const int host = host_of(s.comm(), root);
    const Part between{l.firsts, host, root};
    Steps out(s, between, l.host);
    bcast_to(out, data, host);
    s.note(out.error());
  }
  const Part inside{l.mine};
  Steps in(s, inside, l.me);
  bcast_to(in, data, first);
  s.note(in.error());
}

/// Whether no two ranks are on the same host.
bool is_between_hosts(const Steps& s) {
  const Levels& l = levels_of(s.comm());
  return s.is_part() ? !s.is_part(l.mine) : l.firsts.size() == s.size();
}

}  // namespace

void bcast_to(Steps& s, const Buffer& data, int root) {
  if (s.size() == 1) return;
  const std::uint64_t bytes = bytes_of(data);
  constexpr Set kCuts = set_of({Algorithm::scatter, Algorithm::bruck, Algorithm::chain});
  const Algorithm algorithm =
      choose(s, Collective::bcast, bytes,
             set_of({Algorithm::flat, Algorithm::binomial}) | (bytes > 0 ? kCuts : 0) | hosts_if(has_levels(s)) |
                 (bytes > 0 && is_between_hosts(s) ? set_of(Algorithm::trees) : 0) |
                 board_if(s, Collective::bcast, bytes <= Shared::kBcastMost));
  if (algorithm == Algorithm::board) return s.comm().shared->bcast(s, data, root);
  if (algorithm == Algorithm::hosts) return by_hosts(s, data, root);
  if (algorithm == Algorithm::flat) return bcast_flat(s, data, root);
  Broadcast b(s, root);
  if (algorithm == Algorithm::binomial) return b.binomial(data);
  const DataView view = view_of(data);
  std::optional<Scratch> packed;
  if (!view.is_contiguous()) packed.emplace(bytes);
  std::byte* memory = packed ? packed->data() : view.base;
  if (packed && s.rank() == root) pack_at(memory, data);
  if (algorithm == Algorithm::chain) {
    b.chain(memory, bytes);
  } else if (algorithm == Algorithm::trees) {
    bcast_trees(s, memory, bytes, root);
  } else {
    b.scatter(memory, bytes);
    algorithm == Algorithm::bruck ? b.bruck(memory, bytes) : b.circle(memory, bytes);
  }
  if (packed && s.rank() != root && s.error() == MPI_SUCCESS) unpack_at(data, memory);
}

int bcast(Comm& comm, const Buffer& data, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::bcast(comm, data, root);
  Steps s(comm);
  bcast_to(s, data, root);
  return s.error();
}

}  // namespace rmq::mpi::coll
