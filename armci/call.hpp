// The frame of ARMCI's calls that need the device: who calls, for reports and the recorder; errors, which end the job.
#pragma once

#include <new>
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

/// Ends the job: one line that names function and process.
[[noreturn]] void die(const char* function, const std::string& what, int code = 1);
/// Says why the call came too early or too late, and ends the process.
[[noreturn]] void refuse(const char* function);
/// What rma/ has found wrong with what this process has issued; none: nothing.
void check(const char* function, rma::Window& window, rma::Fault fault);

/// Runs `body()` with the device held.
template <class Body>
auto enter(const mpi::Function& function, Body&& body) {
  if (world().life.load(std::memory_order_acquire) != Life::active) [[unlikely]]
    refuse(function);
  try {
    const adi::Device::Entry entry(*mpi::runtime().device, function, function.id, function.collective);
    return body();
  } catch (const mpi::Failure& f) {
    die(function, f.what.empty() ? std::string("it has failed") : f.what);
  } catch (const std::bad_alloc&) {
    die(function, "no memory is left");
  }
}

}  // namespace rmq::armci
