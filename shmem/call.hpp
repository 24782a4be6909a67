// SPDX-License-Identifier: BSD-3-Clause
// The frame of SHMEM calls that need the device: who calls, for reports and the recorder; errors, which end the job.
#pragma once

#include <string>

#include "engine/call/call.hpp"
#include "engine/comm/comms.hpp"
#include "shmem/world.hpp"

/// Defines pshmem_x, and shmem_x as its weak alias.
#define RMQ_SHMEM(result, name, parameters)                                                           \
  extern "C" RMQ_EXPORT __attribute__((weak, alias("pshmem_" #name))) result shmem_##name parameters; \
  extern "C" RMQ_EXPORT result pshmem_##name parameters

/// Defines shmem_x and shmem_ctx_x: `body` sees `ctx`. Needs shmem.h.
#define RMQ_SHMEM_PAIR(result, name, parameters, body)           \
  RMQ_SHMEM(result, name, RMQ_SHMEM_ARGS parameters) {           \
    const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;                   \
    body;                                                        \
  }                                                              \
  RMQ_SHMEM(result, ctx_##name, RMQ_SHMEM_CTX_ARGS parameters) { \
    body;                                                        \
  }
#define RMQ_SHMEM_ARGS(...) (__VA_ARGS__)
#define RMQ_SHMEM_CTX_ARGS(...) (shmem_ctx_t ctx, __VA_ARGS__)

namespace rmq::shmem {

/// The names of calls: shmem/calls.def.
namespace fn {
#define RMQ_SHMEM_CALL(name) inline constexpr mpi::Function name("shmem_" #name);
#include "shmem/calls.def"
}  // namespace fn

/// See mpi::Face.
[[noreturn]] inline void die(const char* function, const std::string& what) {
  world().die(function, what);
}
[[noreturn]] inline void refuse(const char* function) {
  world().refuse(function);
}
template <class Body>
auto enter(const mpi::Function& function, Body&& body) {
  return world().enter(function, body);
}

}  // namespace rmq::shmem
