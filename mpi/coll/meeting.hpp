// Collectives that communicators of one host hold at their board (board.hpp), once they have one.
#pragma once

#include <optional>
#include <vector>

#include "mpi/coll/board.hpp"
#include "mpi/coll/coll.hpp"

namespace rmq::mpi::coll {

/// A communicator's board as this member has it; in the memory of the first one.
class Meeting {
 public:
  /// The first member takes the memory.
  Meeting(adi::Device& device, const Comm& comm);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Boards of communicators that are gone lie in memory of this party's that is about to go.
  static void forget_memory(const adi::Relay& relay);

  /// What the others find the first member's memory by; 0: they cannot, or this is another one.
  std::uint64_t token() const;
  /// Whether this member reaches the memory. Once, before anything else is called.
  bool open(std::uint64_t token);

  /// MPI error classes, or a Failure when a member is lost.
  int barrier(Comm& comm);
  int allreduce(Comm& comm, const void* in, void* out, const Reduction& r);

 private:
  struct Deserted;
  static std::vector<Deserted>& deserted();
  void make_room();
  void combine_brought(const Reduction& r, void* out);

  adi::Device& device_;
  const Rank first_;
  const int members_, me_;
  const bool one_answers_;
  void* owned_ = nullptr;
  std::optional<Board> board_;
  std::vector<Brought> copies_;  // for combine_brought(): by member
  std::vector<Buffer> operands_;
};

/// A barrier at the board: an MPI error class; nothing: it is for messages. Alike on all members, of whom each calls
/// this for each barrier; the third call makes the board.
std::optional<int> meet(Comm& comm);
/// The same for an allreduce.
std::optional<int> meet(Comm& comm, const void* in, void* out, const Reduction& r);

}  // namespace rmq::mpi::coll
