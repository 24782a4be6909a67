// SPDX-License-Identifier: BSD-3-Clause
// The name of an MPI function, for messages, with what stands for it in traces.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/record/trace.hpp"

// Clang 14 would evaluate such a default argument where it is declared, not where it is used.
#if defined(__clang__)
#define RMQ_AT_COMPILE_TIME constexpr
#else
#define RMQ_AT_COMPILE_TIME consteval
#endif

namespace rmq::mpi {

inline constexpr std::uint32_t kCollectiveKinds = 64;
/// What tells the messages of different collectives apart, below kCollectiveKinds: a piece of the name's hash, with
/// which those that MPI-4.0 calls collective hardly share one. A large count makes no other collective.
constexpr std::uint32_t collective_kind(std::string_view name) {
  if (name.ends_with("_c")) name.remove_suffix(2);
  return call_id(name) / 128 % kCollectiveKinds;
}

/// Made from __func__, or as a default argument from __builtin_FUNCTION(), the caller's name.
struct Function {
  const char* name;
  std::uint32_t id;                            // call_id()
  std::uint32_t collective;                    // collective_kind()
  RMQ_AT_COMPILE_TIME Function(const char* n)  // NOLINT: implicit on purpose
      : name(n), id(call_id(n)), collective(collective_kind(n)) {}
  constexpr operator const char*() const { return name; }  // NOLINT
};

}  // namespace rmq::mpi

#undef RMQ_AT_COMPILE_TIME
