// SPDX-License-Identifier: BSD-3-Clause
// All ranks gather p blocks, n bytes in all (a: latency, b: time a byte).
//
//   flat      to rank 0 and back. For ranks that share CPUs.
//   doubling  recursive doubling, straight in the receive buffer; powers of two, equal blocks. log2(p) a + (p-1)/p n b.
//   bruck     J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
//   systems",
//             1997. The same for any p and any blocks, with copies to and from a packed buffer.
//   ring      (p-1) a + (p-1)/p n b, neighbours only, straight in the receive buffer.
//   batch     everybody sends to all at once: p a, no dependencies.
//   board     short blocks in memory that all share: board.hpp.
//   hosts     to each host's first rank, any of these between those, and a broadcast inside of each.
//
// Boundaries after R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
// MPICH", 2005.
#include <bit>

#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/meeting.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll {
namespace {

// `own` is this rank's block, in the caller's send buffer unless it is in place. It is sent from there: the copy in the
// receive buffer has just been written, and fetching changed cache lines from another core costs twice as much. (2
// ranks, 64 KB: 5 us from the send buffer, 13 us from the copy.)

/// Sends and receives like Steps::exchange and meanwhile copies this rank's block to its place.
void begin(Steps& s, const Buffer& own, const Blocks& recv, int to, int from, const Buffer& in) {
  Request* out = s.start_send(to, own);
  Request* arriving = s.start_recv(from, in);
  s.note(copy_local(recv[s.rank()], own));
  s.finish_recv(arriving);
  if (out) s.finish_send(out);
}

void double_up(Steps& s, const Buffer& own, const Blocks& recv) {
  begin(s, own, recv, s.rank() ^ 1, s.rank() ^ 1, recv[s.rank() ^ 1]);
  for (int have = 2; have < s.size(); have *= 2) {
    const int peer = s.rank() ^ have;
    const int mine = s.rank() & ~(have - 1), theirs = mine ^ have;
    s.exchange(peer, recv.run(mine, have), peer, recv.run(theirs, have));
  }
}

void bruck(Steps& s, const Buffer& own, const Blocks& recv) {
  const int p = s.size(), me = s.rank();
  const auto rank_at = [&](int i) { return me + i < p ? me + i : me + i - p; };
  // Block i of the packed buffer is that of the i-th rank after me.
  ScratchArray<std::uint64_t> start(static_cast<std::size_t>(p) + 1);
  std::uint64_t total = 0;
  for (int i = 0; i < p; ++i) {
    start[static_cast<std::size_t>(i)] = total;
    total += recv.bytes(rank_at(i));
  }
  start[static_cast<std::size_t>(p)] = total;
  Scratch packed(total);
  const auto blocks = [&](int first, int last) {
    const std::uint64_t from = start[static_cast<std::size_t>(first)];
    return raw(packed.data() + from, start[static_cast<std::size_t>(last)] - from);
  };
  if (s.error() == MPI_SUCCESS) pack_at(packed.data(), own);
  s.note(copy_local(recv[me], own));
  for (int have = 1; have < p; have *= 2) {
    const int n = std::min(have, p - have);
    s.exchange((me - have + p) % p, blocks(0, n), rank_at(have), blocks(have, have + n));
  }
  if (s.error() != MPI_SUCCESS) return;
  for (int i = 1; i < p; ++i) unpack_at(recv[rank_at(i)], packed.data() + start[static_cast<std::size_t>(i)]);
}

void circle(Steps& s, const Buffer& own, const Blocks& recv) {
  const int p = s.size(), me = s.rank();
  const int right = (me + 1) % p, left = (me + p - 1) % p;
  begin(s, own, recv, right, left, recv[left]);
  for (int step = 1; step < p - 1; ++step) {
    s.exchange(right, recv[(me - step + p) % p], left, recv[(me - step - 1 + p) % p]);
  }
}

void all_at_once(Steps& s, const Buffer& own, const Blocks& recv) {
  const int p = s.size(), me = s.rank();
  Batch batch(s);
  for (int i = 1; i < p; ++i) batch.send((me + i) % p, own);
  for (int i = 1; i < p; ++i) batch.recv((me - i + p) % p, recv[(me - i + p) % p]);
  s.note(copy_local(recv[me], own));
  batch.finish();
}

/// By way of rank 0, packed.
void through_first(Steps& s, const Buffer& own, const Blocks& recv, std::uint64_t total) {
  const int p = s.size(), me = s.rank();
  Scratch packed(total);
  std::uint64_t mine = 0;  // where my block begins
  {
    Batch in(s);
    std::uint64_t at = 0;
    for (int rank = 0; rank < p; at += recv.bytes(rank++)) {
      if (rank == me) mine = at;
      if (me == 0 && rank != 0) in.recv(rank, raw(packed.data() + at, recv.bytes(rank)));
    }
    if (me != 0) {
      s.send(0, own);
    } else if (s.error() == MPI_SUCCESS) {
      pack_at(packed.data() + mine, own);
    }
    s.note(copy_local(recv[me], own));
    in.finish();
  }
  bcast_flat(s, raw(packed.data(), total), 0);
  if (s.error() != MPI_SUCCESS) return;
  std::uint64_t at = 0;
  for (int rank = 0; rank < p; at += recv.bytes(rank++)) {
    if (rank != me) unpack_at(recv[rank], packed.data() + at);
  }
}

// Each host's first rank gathers the host's blocks, those of all go round between them, and then inside.
void by_hosts(Steps& s, const Buffer& own, const Blocks& recv) {
  const Levels& l = levels_of(s.comm());
  const Part inside{l.mine}, between{l.firsts};
  Steps in(s, inside, l.me);
  const Buffer ours = recv.run(l.mine[0], l.each);
  gather_to(in, own, Blocks::uniform(ours.data, recv.counts()[0], *recv.type()), 0);
  const Buffer all = recv.run(0, s.size());
  if (l.me == 0) {
    Steps out(in, between, l.host);
    allgather_to(out, ours, Blocks::uniform(all.data, ours.count, *ours.type));
    in.note(out.error());
  }
  bcast_to(in, all, 0);
  s.note(in.error());
}

}  // namespace

void allgather_to(Steps& s, const Buffer& own, const Blocks& recv) {
  if (s.size() == 1) return s.note(copy_local(recv[0], own));
  const std::uint64_t total = recv.total_bytes(s.size());
  const bool uniform = recv.is_uniform();
  const auto levels = [&] { return levels_of(s.comm()).apart && levels_of(s.comm()).each > 0; };
  const bool doubles = uniform && std::has_single_bit(static_cast<unsigned>(s.size()));
  const Set possible = set_of({Algorithm::batch, Algorithm::flat, Algorithm::ring, Algorithm::bruck}) |
                       (doubles ? set_of(Algorithm::doubling) : 0) | hosts_if(uniform && has_levels(s) && levels());
  switch (choose(s, Collective::allgather, total, possible)) {
    case Algorithm::hosts:
      by_hosts(s, own, recv);
      break;
    case Algorithm::flat:
      through_first(s, own, recv, total);
      break;
    case Algorithm::batch:
      all_at_once(s, own, recv);
      break;
    case Algorithm::doubling:
      double_up(s, own, recv);
      break;
    case Algorithm::bruck:
      bruck(s, own, recv);
      break;
    default:
      circle(s, own, recv);
  }
}

int allgather(Comm& comm, const Buffer& send, const Blocks& recv) {
  if (comm.is_inter()) [[unlikely]]
    return inter::allgather(comm, send, recv);
  const Buffer own = is_in_place(send.data) ? recv[comm.rank] : send;
  if (recv.is_uniform()) {
    if (const auto error = meet(comm, own, recv, is_in_place(send.data))) return *error;
  }
  Steps s(comm);
  if (bytes_of(own) != recv.bytes(s.rank())) s.note(MPI_ERR_TRUNCATE);  // packed blocks would not fit their places
  allgather_to(s, own, recv);
  return s.error();
}

}  // namespace rmq::mpi::coll
