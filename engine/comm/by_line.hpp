// SPDX-License-Identifier: BSD-3-Clause
// Talk with a process that this one has no channel to, by a line of its own (start/line.hpp). Everything here needs the
// device held.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "start/line.hpp"

namespace rmq::mpi {

/// What two leaders tell each other by a line. Polls the device meanwhile. Throws Failure when the other one is gone.
/// `failed` is called often, and ends it when it throws.
std::vector<std::uint64_t> swap_by_line(Line& line, const std::vector<std::uint64_t>& ours,
                                        const std::function<void()>& failed);

/// Polls the device until `done()`, which is called often, holds; `fd` (-1: none) wakes a call that sleeps when it is
/// readable, or with `writable` can be written.
void await_fd(int fd, bool writable, const std::function<bool()>& done);

}  // namespace rmq::mpi
