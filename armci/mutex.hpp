// SPDX-License-Identifier: BSD-3-Clause
// Mutexes: sets of them, at each member of a communicator as many as it likes.
#pragma once

namespace rmq::armci {

/// The set of ARMCI_Create_mutexes, if there is one. Collective; the device held.
void destroy_mutexes();

}  // namespace rmq::armci
