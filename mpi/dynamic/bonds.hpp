// What holds worlds together once they have met: what their common communicators go by, and how they part. Everything
// here needs the device held.
#pragma once

#include <memory>
#include <string_view>

#include "base/line.hpp"
#include "mpi/internal/comms.hpp"

namespace rmq::mpi {

/// What collectives of communicators of several jobs go by; never destroyed.
const coll::Terms& common_terms(std::string_view forced);

/// The same, of what the first member of a party brings; all of the party call.
const coll::Terms& agree_on_terms(const Party& members);

/// Whether one of the communicator's members is of another job.
bool is_mixed(const Comm& c);

/// All of MPI_Comm_disconnect but the end of the handle: waits for all members, and says which parties nobody of them
/// will need any more. To be dismissed when the communicator is gone.
std::vector<adi::Party*> part_from(Comm& c);
/// The launcher hears that this job and that one are connected, by this party; it has heard when this returns. As far
/// as both jobs are its own, one ends with the other.
void tell_bond(const adi::Party& party, std::uint64_t other_job);
/// Ends a party in order.
void dismiss(adi::Party& party);

/// MPI_Finalize is collective over all processes that are connected: returns when all of each party have come.
void meet_parties();

/// DeviceOptions::on_parted: a launcher ends all that is connected with a job that ends badly.
void end_for_parting(std::uint64_t job);

}  // namespace rmq::mpi
