// SPDX-License-Identifier: BSD-3-Clause
// Descriptors 0, 1 and 2 of a program that runs without them.
#pragma once

namespace rmq::os {

/// Takes those of the three that are closed, for good, so that no file or socket of ours gets such a number: what the
/// program prints, or a library writes to standard error, would go there. As before, reading from them and writing to
/// them fails with EBADF, and the program may open them anew with dup2() or freopen(). Gone in what it executes.
void hold_standard_streams();

}  // namespace rmq::os
