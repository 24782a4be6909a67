// The limit of open files of this process.
#pragma once

#include <sys/resource.h>

#include <optional>

#include "base/error.hpp"

namespace rmq::launch {

/// Raises the soft limit to the hard one when it allows fewer than `needed` descriptors, which `ranks` ranks want here.
/// The limit as it was, if it was raised. Errc::system, with the remedy, when even the hard one is too low.
Result<std::optional<rlimit>> raise_open_files(int ranks, rlim_t needed);

}  // namespace rmq::launch
