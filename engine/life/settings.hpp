// SPDX-License-Identifier: BSD-3-Clause
// The configuration variables as this process has them: what the environment says, or what the tools interface has
// written before there was a device.
#pragma once

#include <string>
#include <string_view>

namespace rmq::mpi {

/// What the variable is set to; nullptr: not set. For one thread at a time, as is set_variable().
const char* setting(const char* name);
/// Overrides what the environment says.
void set_variable(std::string_view name, std::string value);

}  // namespace rmq::mpi
