// SPDX-License-Identifier: BSD-3-Clause
// What a process of a job is called by.
#pragma once

#include <cstdint>

namespace rmq {

/// World rank of a process. kNoRank where there is none.
using Rank = std::int32_t;
inline constexpr Rank kNoRank = -1;

}  // namespace rmq
