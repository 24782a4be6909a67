// SPDX-License-Identifier: BSD-3-Clause
// The numbers of processes that a user would do with, as MPI-4.1 (11.8.4, info key soft) writes them: "2,4:16:4".
#pragma once

#include <string>

#include "base/error.hpp"

namespace rmq::launch {

/// The greatest of the numbers that is not more than `most`; ranges are FIRST:LAST:STEP, or FIRST:LAST. Errc::argument
/// where the text is none of that, or allows nothing from 0 to `most`.
Result<int> soft_count(const std::string& text, int most);

}  // namespace rmq::launch
