// SPDX-License-Identifier: BSD-3-Clause
// Every rank sends a block to every rank (p ranks, n bytes a block; a: latency, b: time a byte).
//
//   bruck     J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
//             systems", 1997. log2(p) a + log2(p) p/2 n b; for equal, very short blocks.
//   batch     all messages at once, to the next rank first: p a + p n b, no dependencies between them.
//   pairwise  p - 1 exchanges, with another partner each: the same, but each link and each rank serves one long message
//             at a time.
//   board     short blocks in memory that all share: board.hpp.
//   hosts     each host's blocks go by way of its first rank, those for another host in one message: J. Träff,
//             A. Rougier, "MPI collectives and datatypes for hierarchical all-to-all communication", 2014, and others
//             before. For h hosts of m: two messages of p n inside, h - 1 of m^2 n between, for equal, short blocks.
//
// In place, the outgoing blocks are packed aside first: that takes as much memory as the blocks, and no further round.
#include <bit>
#include <optional>

#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/meeting.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/stages.hpp"
#include "engine/coll/steps.hpp"

namespace rmq::mpi::coll {
namespace {

// Ranks that a batch serves at once: bounds requests and unexpected memory.
constexpr int kBatch = 128;

/// The outgoing blocks of an in-place exchange: one behind the other, packed.
class Aside {
 public:
  Aside(const Blocks& blocks, int p) : start_(static_cast<std::size_t>(p) + 1), packed_(fill_starts(blocks, p)) {
    for (int i = 0; i < p; ++i) pack_at(packed_.data() + start_[static_cast<std::size_t>(i)], blocks[i]);
  }
  Buffer operator[](int i) {
    const std::uint64_t from = start_[static_cast<std::size_t>(i)];
    return raw(packed_.data() + from, start_[static_cast<std::size_t>(i) + 1] - from);
  }

 private:
  std::uint64_t fill_starts(const Blocks& blocks, int p) {
    std::uint64_t total = 0;
    for (int i = 0; i < p; ++i) {
      start_[static_cast<std::size_t>(i)] = total;
      total += blocks.bytes(i);
    }
    start_[static_cast<std::size_t>(p)] = total;
    return total;
  }
  ScratchArray<std::uint64_t> start_;
  Scratch packed_;
};

class Exchange {
 public:
  Exchange(Steps& s, const Blocks& send, const Blocks& recv)
      : s_(s), p_(s.size()), me_(s.rank()), send_(send), recv_(recv) {
    if (send.in_place()) aside_.emplace(recv, p_);
  }

  void own_block() {
    if (!aside_) s_.note(copy_local(recv_[me_], send_[me_]));
  }

  void bruck() {
    const std::uint64_t block = recv_.bytes(0);
    const auto count = static_cast<std::uint64_t>(p_);
    Scratch memory(2 * count * block);
    std::byte* const blocks = memory.data();  // block i is for the i-th rank after me
    // Those that travel, side by side, out and in: half of the blocks at most.
    std::byte* const out = blocks + count * block;
    std::byte* const in = out + (count + 1) / 2 * block;
    const auto at = [&](int i) { return blocks + static_cast<std::uint64_t>(i) * block; };
    // own_block() has seen it if the outgoing blocks have another size than the incoming ones.
    for (int i = 1; i < p_ && s_.error() == MPI_SUCCESS; ++i) pack_at(at(i), outgoing(to(i)));
    for (int bit = 1; bit < p_; bit *= 2) {
      std::uint64_t n = 0;
      for (int i = bit; i < p_; ++i) {
        if (i & bit) copy_bytes(out + n++ * block, at(i), block);
      }
      s_.exchange(to(bit), raw(out, n * block), from(bit), raw(in, n * block));
      n = 0;
      for (int i = bit; i < p_; ++i) {
        if (i & bit) copy_bytes(at(i), in + n++ * block, block);
      }
    }
    if (s_.error() != MPI_SUCCESS) return;
    for (int i = 1; i < p_; ++i) unpack_at(recv_[from(i)], at(i));
  }

  void batch() {
    for (int first = 1; first < p_; first += kBatch) {
      const int last = std::min(first + kBatch, p_);
      Batch b(s_);
      for (int i = first; i < last; ++i) {
        if (const Buffer out = outgoing(to(i)); bytes_of(out) > 0) b.send(to(i), out);
      }
      for (int i = first; i < last; ++i) {
        if (const Buffer in = recv_[from(i)]; bytes_of(in) > 0) b.recv(from(i), in);
      }
      b.finish();
    }
  }

  // Inside of a host a row has the blocks from, and then for, one rank; between hosts a message has, for each rank of
  // the sender's, the blocks for each of the receiver's.
  void by_hosts() {
    const Levels& l = levels_of(s_.comm());
    const Part inside{l.mine}, between{l.firsts};
    const std::uint64_t block = recv_.bytes(0);
    const auto each = static_cast<std::uint64_t>(l.each), row = static_cast<std::uint64_t>(p_) * block;
    const std::uint64_t strip = each * block, message = each * strip;  // of a row, what one host gets; all of those
    const bool leads = l.me == 0;
    Scratch rows_memory(leads ? each * row : row), out_memory(leads ? each * row : 0),
        in_memory(leads ? each * row : 0);
    std::byte *const rows = rows_memory.data(), *const out = out_memory.data(), *const in = in_memory.data();
    if (s_.error() == MPI_SUCCESS)  // else some block has another size
      for (int i = 0; i < p_; ++i) pack_at(rows + static_cast<std::uint64_t>(i) * block, outgoing(i));
    Steps here(s_, inside, l.me);
    if (!leads) {
      here.send(0, raw(rows, row));
      here.recv(0, raw(rows, row));
    } else {
      Batch up(here);
      for (int i = 1; i < l.each; ++i) up.recv(i, raw(rows + static_cast<std::uint64_t>(i) * row, row));
      up.finish();
      const int hosts = l.firsts.size();
      for (int h = 0; h < hosts; ++h) {
        const auto host = static_cast<std::uint64_t>(h);
        std::byte* to = (h == l.host ? in : out) + host * message;
        for (std::uint64_t i = 0; i < each; ++i, to += strip) copy_bytes(to, rows + i * row + host * strip, strip);
      }
      Steps there(here, between, l.host);
      for (int first = 1; first < hosts; first += kBatch) {
        const int last = std::min(first + kBatch, hosts);
        Batch b(there);
        for (int i = first; i < last; ++i) {
          const int h = (l.host + i) % hosts;
          b.send(h, raw(out + static_cast<std::uint64_t>(h) * message, message));
        }
        for (int i = first; i < last; ++i) {
          const int h = (l.host - i + hosts) % hosts;
          b.recv(h, raw(in + static_cast<std::uint64_t>(h) * message, message));
        }
        b.finish();
      }
      here.note(there.error());
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::byte* from = in + i * block;
        for (std::byte *to = rows + i * row, *end = to + row; to != end; to += block, from += strip)
          copy_bytes(to, from, block);
      }
      Batch down(here);
      for (int i = 1; i < l.each; ++i) down.send(i, raw(rows + static_cast<std::uint64_t>(i) * row, row));
      down.finish();
    }
    s_.note(here.error());
    if (s_.error() != MPI_SUCCESS) return;
    for (int i = 0; i < p_; ++i) unpack_at(recv_[i], rows + static_cast<std::uint64_t>(i) * block);
  }

  void pairwise() {
    const bool even = std::has_single_bit(static_cast<unsigned>(p_));
    for (int i = 1; i < p_; ++i) {
      const int target = even ? me_ ^ i : to(i), source = even ? me_ ^ i : from(i);
      s_.exchange(target, outgoing(target), source, recv_[source]);
    }
  }

 private:
  int to(int i) const { return me_ + i < p_ ? me_ + i : me_ + i - p_; }
  int from(int i) const { return me_ >= i ? me_ - i : me_ - i + p_; }
  Buffer outgoing(int rank) { return aside_ ? (*aside_)[rank] : send_[rank]; }

  Steps& s_;
  int p_;
  int me_;
  const Blocks& send_;
  const Blocks& recv_;
  std::optional<Aside> aside_;
};

// What a host's first rank may take for the blocks of all, bytes.
constexpr std::uint64_t kHostMost = 16 << 20;

bool can_go_by_hosts(const Steps& s, std::uint64_t block) {
  if (!has_levels(s) || block == 0) return false;
  const Levels& l = levels_of(s.comm());
  const auto each = static_cast<std::uint64_t>(l.each);
  return l.apart && each > 0 && block <= kHostMost / each / static_cast<std::uint64_t>(s.size());
}

}  // namespace

int alltoall(Comm& comm, const Blocks& send, const Blocks& recv) {
  if (comm.is_inter()) [[unlikely]]
    return inter::alltoall(comm, send, recv);
  if (recv.is_uniform()) {
    if (const auto error = meet(comm, send, recv)) return *error;
  }
  Steps s(comm);
  Exchange x(s, send, recv);
  x.own_block();
  // Only equal blocks have a size that all ranks know. Batch leaves empty ones out.
  if (s.size() == 1 || !recv.is_uniform()) {
    x.batch();
    return s.error();
  }
  constexpr Set kAll = set_of({Algorithm::bruck, Algorithm::batch, Algorithm::pairwise});
  switch (choose(s, Collective::alltoall, recv.bytes(0), kAll | hosts_if(can_go_by_hosts(s, recv.bytes(0))))) {
    case Algorithm::hosts:
      x.by_hosts();
      break;
    case Algorithm::bruck:
      x.bruck();
      break;
    case Algorithm::pairwise:
      x.pairwise();
      break;
    default:
      x.batch();
  }
  return s.error();
}

}  // namespace rmq::mpi::coll
