// SPDX-License-Identifier: BSD-3-Clause
// Other processes of this machine.
#pragma once

#include <sys/types.h>

namespace rmq::os {

/// Whether the process has ended, also when nobody has asked for its exit status yet. A few system calls.
bool has_ended(pid_t pid);

}  // namespace rmq::os
