// Buffered sends: the buffer that the program has attached holds copies of messages until they have left. All needs the
// device held.
#pragma once

#include "mpi/internal/objects.hpp"

namespace rmq::mpi {

/// Sends a copy of the data. Throws MPI_ERR_BUFFER when the attached buffer has no room for it.
void send_buffered(Comm& c, const Buffer& data, int dest, int tag);
/// The same with a request, complete from the start, by which the message can be taken back.
MPI_Request start_buffered(Comm& c, const Buffer& data, int dest, int tag);

/// Waits until no copy is in use.
void drain_bsend_buffer();

}  // namespace rmq::mpi
