// The frame of SHMEM calls that need the device: who calls, for reports and the recorder; errors, which end the job.
#pragma once

#include <new>
#include <string>
#include <utility>

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

/// Ends the job: one line that names function and PE.
[[noreturn]] void die(const char* function, const std::string& what);
/// Says why the call came too early or too late, and ends the process.
[[noreturn]] void refuse(const char* function);

/// Runs `body()` with the device held.
template <class Body>
auto enter(const mpi::Function& function, Body&& body) {
  if (world().life.load(std::memory_order_acquire) != Life::active) refuse(function);
  try {
    const adi::Device::Entry entry(*mpi::runtime().device, function, function.id, function.collective);
    return body();
  } catch (const mpi::Failure& f) {
    die(function, f.what.empty() ? std::string("it has failed") : f.what);
  } catch (const std::bad_alloc&) {
    die(function, "no memory is left");
  }
}

}  // namespace rmq::shmem
