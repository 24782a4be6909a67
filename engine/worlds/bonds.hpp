// SPDX-License-Identifier: BSD-3-Clause
// What holds worlds together once they have met: what their common communicators go by, and how they part. Everything
// here needs the device held.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/comm/comms.hpp"
#include "start/line.hpp"

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
/// The launcher hears that all jobs of this party are connected by it; it has heard when this returns. As far as they
/// are its own, one ends with the others; the others are returned.
std::vector<std::uint64_t> tell_bond(const adi::Party& party);
/// The launcher hears that they have parted: what this process does next, and be it that it dies, comes behind that.
void tell_parting(const adi::Party& party);
/// What a party was made for has failed: the jobs are not connected by it, and do not wait for each other in the end.
void set_adrift(adi::Party& party);
/// Processes that know each other by such parties have come together after all.
void tie_again(const std::vector<Rank>& members, bool leader);
/// Ends a party in order.
void dismiss(adi::Party& party);

/// MPI_Finalize is collective over all processes that are connected: returns when all of each party have come.
void meet_parties();

/// DeviceOptions::on_parted: a launcher ends all that is connected with a job that ends badly. Where ranks may die it
/// hears that this rank of it has, or -1: all of these jobs are taken for dead.
void end_for_parting(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended);

}  // namespace rmq::mpi
