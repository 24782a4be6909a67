// SPDX-License-Identifier: BSD-3-Clause
// MPI_Status in the ABI's layout. Every function takes MPI_STATUS_IGNORE and then does nothing. MPI_ERROR is left
// alone but in an empty status: only the functions that complete several requests write it.
#pragma once

#include <cstdint>

#include "engine/include/rmq_mpi_types.h"

namespace rmq::mpi {

inline std::uint64_t status_bytes(const MPI_Status& s) {
  const auto high = static_cast<std::uint32_t>(s.count_hi_and_cancelled) >> 1;
  return (std::uint64_t{high} << 32) | static_cast<std::uint32_t>(s.count_lo);
}
inline bool status_cancelled(const MPI_Status& s) {
  return s.count_hi_and_cancelled & 1;
}

inline void set_status(MPI_Status* s, int source, int tag, std::uint64_t bytes, bool cancelled = false) {
  if (s == MPI_STATUS_IGNORE) return;
  s->count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  s->count_hi_and_cancelled = static_cast<int>((static_cast<std::uint32_t>(bytes >> 32) << 1) | (cancelled ? 1u : 0u));
  s->MPI_SOURCE = source;
  s->MPI_TAG = tag;
}

/// Of an operation that was a send, or has nothing to say of messages.
inline void set_sent_status(MPI_Status* s, bool cancelled = false) {
  set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, cancelled);
}

/// The empty status: of an operation that is not there, as the request is null or inactive (MPI-4.1, section 3.7.3).
inline void set_empty_status(MPI_Status* s) {
  set_sent_status(s);
  if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = MPI_SUCCESS;
}

inline void set_proc_null_status(MPI_Status* s) {
  set_status(s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

}  // namespace rmq::mpi
