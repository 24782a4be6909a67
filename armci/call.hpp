// SPDX-License-Identifier: BSD-3-Clause
// The frame of ARMCI's calls that need the device: who calls, for reports and the recorder; errors, which end the job.
#pragma once

#include <string>

#include "armci/world.hpp"
#include "engine/call/call.hpp"
#include "engine/comm/comms.hpp"

/// Defines PARMCI_x, and ARMCI_x as its weak alias.
#define RMQ_ARMCI(result, name, parameters)                                                           \
  extern "C" RMQ_EXPORT __attribute__((weak, alias("PARMCI_" #name))) result ARMCI_##name parameters; \
  extern "C" RMQ_EXPORT result PARMCI_##name parameters

namespace rmq::armci {

/// The names of calls: armci/calls.def.
namespace fn {
#define RMQ_ARMCI_CALL(name) inline constexpr mpi::Function name("ARMCI_" #name);
#include "armci/calls.def"
}  // namespace fn

/// See mpi::Face.
[[noreturn]] inline void die(const char* function, const std::string& what, int code = 1) {
  world().die(function, what, code);
}
[[noreturn]] inline void refuse(const char* function) {
  world().refuse(function);
}
inline void check(const char* function, const rma::Window& window, rma::Fault fault) {
  world().check(function, window, fault);
}
template <class Body>
auto enter(const mpi::Function& function, Body&& body) {
  return world().enter(function, body);
}

}  // namespace rmq::armci
