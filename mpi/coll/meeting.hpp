// Collectives that communicators of one host hold at their board (board.hpp), once they have one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mpi/coll/board.hpp"
#include "mpi/coll/coll.hpp"
#include "mpi/coll/host_memory.hpp"

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

 private:
  void make_room();
  void combine_brought(const Reduction& r, void* out);

  const std::unique_ptr<HostMemory> memory_;
  const int members_;
  Board board_;
  std::vector<Brought> copies_;  // for combine_brought(): by member
  std::vector<Buffer> operands_;
};

/// A barrier at the board: an MPI error class; nothing: it is for messages. Alike on all members, of whom each calls
/// this for each barrier; the third call makes the board.
std::optional<int> meet(Comm& comm);
/// The same for an allreduce.
std::optional<int> meet(Comm& comm, const void* in, void* out, const Reduction& r);

}  // namespace rmq::mpi::coll
