// SPDX-License-Identifier: BSD-3-Clause
// The limit of open files of this process.
#pragma once

#include <sys/resource.h>

#include <optional>

#include "base/error.hpp"

namespace rmq::launch {

/// Raises the soft limit to the hard one when it allows fewer than `needed` descriptors, for `ranks` ranks here and
/// links to the agents of `hosts` others. The limit as it was, if it was raised. Errc::system, with the remedy, when
/// even the hard one is too low.
Result<std::optional<rlimit>> raise_open_files(int ranks, int hosts, rlim_t needed);
/// What a launcher or an agent needs without ranks: its own, and some for a moment, as for tools that ask.
inline constexpr int kSpareDescriptors = 40;

}  // namespace rmq::launch
