// Collectives that communicators of one host hold at their board (board.hpp), where they have one.
#pragma once

#include "mpi/coll/board.hpp"
#include "mpi/coll/coll.hpp"

namespace rmq::mpi::coll {

/// Whether the members meet at a board for this barrier: alike on all. The first calls on a communicator make it.
Board* board_for_barrier(Comm& comm);
/// The same for this allreduce.
Board* board_for_allreduce(Comm& comm, const Reduction& r);

/// Return an MPI error class.
int meet(Comm& comm, Board& board);
int meet(Comm& comm, Board& board, const void* in, void* out, const Reduction& r);

}  // namespace rmq::mpi::coll
