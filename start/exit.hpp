// SPDX-License-Identifier: BSD-3-Clause
// How a rank ends its process from within a library call.
#pragma once

#include <functional>

namespace rmq::boot {

/// The status of an exit with this code. It has 8 bits; a code that would lose all its bits is not to turn into
/// success.
int status_of(int code);

[[noreturn]] void exit_with(int code);

/// What the program has printed gets out first, and what its other streams hold, unless a thread keeps one of them for
/// ever, as in fgets on a terminal. `last` is called then.
[[noreturn]] void flush_and_exit(int code, const std::function<void()>& last = {});

}  // namespace rmq::boot
