// SPDX-License-Identifier: BSD-3-Clause
// The CPUs that a process may use.
#pragma once

#include <sched.h>

namespace rmq::os {

/// How many this thread is let on (taskset, cgroups' cpusets); 0 where the kernel has more than fit a cpu_set_t.
inline int allowed_cpus() {
  cpu_set_t mask;
  return ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

}  // namespace rmq::os
