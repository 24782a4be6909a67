// SPDX-License-Identifier: BSD-3-Clause
// Makes a failing job small: one program, then fewest steps, modes and ranks.
#pragma once

#include <ostream>

#include "job.hpp"

namespace torture {

/// Prints the command and the C program that still fail.
void shrink(Job job, const Outcome& outcome, std::ostream& to);

}  // namespace torture
