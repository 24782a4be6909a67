// The name of an MPI function, for messages, with what stands for it in traces.
#pragma once

#include <cstdint>

#include "base/trace.hpp"

// Clang 14 would evaluate such a default argument where it is declared, not where it is used.
#if defined(__clang__)
#define RMQ_AT_COMPILE_TIME constexpr
#else
#define RMQ_AT_COMPILE_TIME consteval
#endif

namespace rmq::mpi {

/// Made from __func__, or as a default argument from __builtin_FUNCTION(), the caller's name.
struct Function {
  const char* name;
  std::uint32_t id;                                                         // call_id()
  RMQ_AT_COMPILE_TIME Function(const char* n) : name(n), id(call_id(n)) {}  // NOLINT: implicit on purpose
  constexpr operator const char*() const { return name; }                   // NOLINT
};

}  // namespace rmq::mpi

#undef RMQ_AT_COMPILE_TIME
