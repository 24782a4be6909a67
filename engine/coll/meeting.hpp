// SPDX-License-Identifier: BSD-3-Clause
// Collectives that communicators of one host hold at their board (board.hpp), once they have one.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/coll/board.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/host_memory.hpp"

namespace rmq::mpi::coll {

/// A communicator's board as this member has it.
class Meeting {
 public:
  /// What lays the memory out, and how much that is.
  static std::size_t bytes(int members) { return Board::bytes(members); }
  static void make(void* memory, int members) { Board::make(memory, members); }
  Meeting(std::unique_ptr<HostMemory> memory, const Comm& comm);

  /// MPI error classes, or a Failure when a member is lost.
  int barrier(Comm& comm);
  int allreduce(Comm& comm, const void* in, void* out, const Reduction& r);
  int allgather(Comm& comm, const Buffer& own, const Blocks& recv, bool in_place);
  int alltoall(Comm& comm, const Blocks& send, const Blocks& recv);

 private:
  void make_room();
  void combine_brought(const Reduction& r, void* out);

  const std::unique_ptr<HostMemory> memory_;
  const int members_;
  Board board_;
  std::array<std::byte, Board::kRowMost> row_{};  // that this member is about to bring
  std::vector<Brought> copies_;                   // for combine_brought(): by member
  std::vector<Buffer> operands_;
};

/// A barrier at the board: an MPI error class; nothing: it is for messages. Alike on all members, of whom each calls
/// this for each barrier; the third call makes the board.
std::optional<int> meet(Comm& comm);
/// The same for an allreduce.
std::optional<int> meet(Comm& comm, const void* in, void* out, const Reduction& r);
/// The same for an allgather of equal blocks; `own` is this rank's, and in its place already if so.
std::optional<int> meet(Comm& comm, const Buffer& own, const Blocks& recv, bool in_place);
/// The same for an alltoall of equal blocks.
std::optional<int> meet(Comm& comm, const Blocks& send, const Blocks& recv);

}  // namespace rmq::mpi::coll
