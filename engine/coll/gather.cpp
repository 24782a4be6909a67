// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter of p blocks of n bytes (a: latency, b: time a byte).
//
//   binomial  log2(p) a + (p-1) n b, with a copy of what passes through each inner rank: R. Thakur, R. Rabenseifner,
//             W. Gropp, "Optimization of collective communication operations in MPICH", 2005. For equal, short blocks.
//   linear    the root with every rank: (p-1) a + (p-1) n b, no copies, the root's data in place of any layout.
//
//   board     gather in memory that all share (release_gather.hpp): the root waits for all, and reads.
//
// Only the root knows the blocks of the variants with a count for each rank, so those are linear.
#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/shared.hpp"
#include "engine/coll/stages.hpp"
#include "engine/coll/subtree.hpp"

namespace rmq::mpi::coll {
namespace {

bool goes_up_tree(Steps& s, std::uint64_t block) {
  return s.size() > 1 &&
         choose(s, Collective::scatter, block, set_of({Algorithm::binomial, Algorithm::linear})) == Algorithm::binomial;
}

void gather_binomial(Steps& s, const Buffer& send, const Blocks& recv, int root, std::uint64_t block) {
  const Subtree tree(s.size(), s.rank(), root);
  Scratch packed(static_cast<std::uint64_t>(tree.width()) * block);
  const auto at = [&](int i) { return packed.data() + static_cast<std::uint64_t>(i - tree.me()) * block; };
  Batch in(s);
  for (int step = tree.farthest(); step > 0; step /= 2) {
    const int child = tree.me() + step;
    in.recv(tree.rank_of(child), raw(at(child), static_cast<std::uint64_t>(tree.width_of(child)) * block));
  }
  if (s.rank() != root) {
    pack_at(packed.data(), send);
    in.finish();
    return s.send(tree.parent(), raw(packed.data(), static_cast<std::uint64_t>(tree.width()) * block));
  }
  if (!is_in_place(send.data)) s.note(copy_local(recv[root], send));
  in.finish();
  if (s.error() != MPI_SUCCESS) return;
  for (int i = 1; i < s.size(); ++i) unpack_at(recv[tree.rank_of(i)], at(i));
}

void scatter_binomial(Steps& s, const Blocks& send, const Buffer& recv, int root, std::uint64_t block) {
  const Subtree tree(s.size(), s.rank(), root);
  Scratch packed(static_cast<std::uint64_t>(tree.width()) * block);
  const auto at = [&](int i) { return packed.data() + static_cast<std::uint64_t>(i - tree.me()) * block; };
  if (s.rank() == root) {
    for (int i = 1; i < s.size(); ++i) pack_at(at(i), send[tree.rank_of(i)]);
  } else {
    s.recv(tree.parent(), raw(packed.data(), static_cast<std::uint64_t>(tree.width()) * block));
  }
  Batch out(s);
  for (int step = tree.farthest(); step > 0; step /= 2) {
    const int child = tree.me() + step;
    out.send(tree.rank_of(child), raw(at(child), static_cast<std::uint64_t>(tree.width_of(child)) * block));
  }
  if (s.rank() == root) {
    if (!is_in_place(recv.data)) s.note(copy_local(recv, send[root]));
  } else if (s.error() == MPI_SUCCESS) {
    unpack_at(recv, packed.data());
  }
  out.finish();
}

}  // namespace

void gather_linear(Steps& s, const Buffer& send, const Blocks& recv, int root) {
  if (s.rank() != root) return s.send(root, send);
  Batch in(s);
  for (int rank = 0; rank < s.size(); ++rank) {
    if (rank != root) in.recv(rank, recv[rank]);
  }
  if (!is_in_place(send.data)) s.note(copy_local(recv[root], send));
  in.finish();
}

void scatter_linear(Steps& s, const Blocks& send, const Buffer& recv, int root) {
  if (s.rank() != root) return s.recv(root, recv);
  Batch out(s);
  for (int rank = 0; rank < s.size(); ++rank) {
    if (rank != root) out.send(rank, send[rank]);
  }
  if (!is_in_place(recv.data)) s.note(copy_local(recv, send[root]));
  out.finish();
}

void gather_to(Steps& s, const Buffer& send, const Blocks& recv, int root) {
  const std::uint64_t block = s.rank() == root ? recv.bytes(root) : bytes_of(send);
  if (s.size() == 1) return gather_linear(s, send, recv, root);
  switch (choose(s, Collective::gather, block,
                 set_of({Algorithm::binomial, Algorithm::linear}) |
                     board_if(s, Collective::gather, block <= Shared::kBlockMost))) {
    case Algorithm::board:
      return s.comm().shared->gather(s, send, recv, root);
    case Algorithm::binomial:
      return gather_binomial(s, send, recv, root, block);
    default:
      return gather_linear(s, send, recv, root);
  }
}

int gather(Comm& comm, const Buffer& send, const Blocks& recv, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::gather(comm, send, recv, root);
  Steps s(comm);
  gather_to(s, send, recv, root);
  return s.error();
}

int gatherv(Comm& comm, const Buffer& send, const Blocks& recv, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::gather(comm, send, recv, root);
  Steps s(comm);
  gather_linear(s, send, recv, root);
  return s.error();
}

int scatter(Comm& comm, const Blocks& send, const Buffer& recv, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::scatter(comm, send, recv, root);
  Steps s(comm);
  const std::uint64_t block = s.rank() == root ? send.bytes(root) : bytes_of(recv);
  if (goes_up_tree(s, block)) {
    scatter_binomial(s, send, recv, root, block);
  } else {
    scatter_linear(s, send, recv, root);
  }
  return s.error();
}

int scatterv(Comm& comm, const Blocks& send, const Buffer& recv, int root) {
  if (comm.is_inter()) [[unlikely]]
    return inter::scatter(comm, send, recv, root);
  Steps s(comm);
  scatter_linear(s, send, recv, root);
  return s.error();
}

}  // namespace rmq::mpi::coll
