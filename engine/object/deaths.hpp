// SPDX-License-Identifier: BSD-3-Clause
// What the chapters of MPI ask about failures, in a job that goes on when ranks die: design/faults.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

/// "world rank 3 is lost: …"
std::string lost_text(int world_rank);
/// MPIX_ERR_PROC_FAILED; MPI_ERR_NO_MEM where this rank has too little memory to reach it.
int lost_class(int world_rank);

}  // namespace rmq::mpi

namespace rmq::mpi::ft {

/// Once there is a device. What asks for groups (Faults::refuse_in_group) is set by whoever knows of these.
void start();
/// The life of a communicator: it has its contexts; it ends. Where ranks may die its contexts are given back when it
/// has ended at all who live: it has none any more then.
void begin(Comm& c);
void end(Comm& c);
/// The same of one that has never had contexts of its own (engine/comm/meeting_place.hpp), if anything has been agreed
/// on there: others may still have to hear of it.
void leave_place(Comm& place);
/// One that no member here will ever use, while others may have it: it ends here, and its circle goes on to refuse.
void keep_refusing(Comm& c);
/// Of a communicator that has contexts.
Circle& circle_of(Comm& c);
/// In which members make something together (together.hpp).
Circle& makings_of(Comm& c);

/// Whether ranks may die without an end to the job.
inline bool may_fail() {
  return runtime().ft;
}

[[noreturn]] void fail_revoked(const Comm& c);
/// Before anything is said to other members: fails on a communicator that has been revoked.
inline void check_not_revoked(const Comm& c) {
  if (c.revoked) [[unlikely]]
    fail_revoked(c);
}

/// While a member waits for others than these, in what all make together or none: fails as soon as it is known that it
/// will be none, because the communicator is revoked or a member has died.
void check_whole(Comm& c);

/// Before it waits for any member: fails with this class if one has failed whom the program has not acknowledged.
void check_acknowledged(Comm& c, int error_class);
/// What a call says then; there is such a member.
std::string unacknowledged_text(const Circle& circle);

/// All members that live meet, whoever dies meanwhile; and agree on the bitwise and of what each says.
std::vector<std::uint64_t> agree_among_living(Comm& c, const std::vector<std::uint64_t>& words);
inline void meet_living(Comm& c) {
  agree_among_living(c, {});
}
/// In place of what MPI_Finalize does to meet all ranks: those that live. Whether any of them says `go_on`.
bool meet_living(bool go_on);

}  // namespace rmq::mpi::ft
