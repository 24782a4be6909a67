// SPDX-License-Identifier: BSD-3-Clause
// From a failure to the error handler that it is for.
#pragma once

#include <memory>

#include "engine/object/failure.hpp"

namespace rmq::adi {
class Core;
}  // namespace rmq::adi

namespace rmq::mpi {

struct Comm;

/// The handler for failures of this communicator's messages.
const Errhandler& handler_of(const Comm& comm);
/// The same where its handle has been freed; null while it has not.
std::shared_ptr<const Errhandler> handler_of_freed(const Comm& comm);

/// Calls the error handler of the communicator or window (null or dead: of MPI_COMM_SELF) and returns what the function
/// returns. The device must not be held: the handler may call MPI.
int raise_error(int object, const char* function, const Failure& failure);
/// The same for a function on files.
int raise_file_error(const char* function, const Failure& failure);
/// The same with this handler, whose object is `object`. Also while MPI is not active.
int raise_to(const Errhandler& handler, int object, const char* function, const Failure& failure);

/// Ends the job at once, in the name of the call under way, because that rank is lost. Needs the device held.
void end_for_loss(adi::Core& device, int lost_world_rank);

}  // namespace rmq::mpi
