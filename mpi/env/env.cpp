// SPDX-License-Identifier: BSD-3-Clause
// Chapter 9: versions, names, clocks, memory, addresses.
#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/life/life.hpp"
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"
#include "mpi/env/fortran.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq::mpi {

// Data symbols of the ABI. Only their addresses or null values mean anything.
namespace {
int unweighted_place, weights_empty_place;
int ignored_status[5], ignored_statuses[5];
}  // namespace
}  // namespace rmq::mpi

extern "C" {
int* const MPI_UNWEIGHTED = &rmq::mpi::unweighted_place;
int* const MPI_WEIGHTS_EMPTY = &rmq::mpi::weights_empty_place;
MPI_Fint* MPI_F_STATUS_IGNORE = rmq::mpi::ignored_status;
MPI_Fint* MPI_F_STATUSES_IGNORE = rmq::mpi::ignored_statuses;
MPI_F08_status* MPI_F08_STATUS_IGNORE = reinterpret_cast<MPI_F08_status*>(rmq::mpi::ignored_status);
MPI_F08_status* MPI_F08_STATUSES_IGNORE = reinterpret_cast<MPI_F08_status*>(rmq::mpi::ignored_statuses);

// Variables of MPICH's Fortran library, where the program has it, that hold what C calls so.
extern int* MPIR_C_MPI_UNWEIGHTED __attribute__((weak));
extern int* MPIR_C_MPI_WEIGHTS_EMPTY __attribute__((weak));
}

namespace rmq::mpi {

void tell_fortran() {
  if (&MPIR_C_MPI_UNWEIGHTED) MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
  if (&MPIR_C_MPI_WEIGHTS_EMPTY) MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
}

namespace {

/// Whether the code at an address is of MPICH's Fortran library.
bool is_in_fortran_library(const void* code) {
  const void* const fortran = ::dlsym(RTLD_DEFAULT, "mpi_get_version_");
  Dl_info caller, library;
  return fortran && ::dladdr(code, &caller) != 0 && ::dladdr(fortran, &library) != 0 &&
         caller.dli_fbase == library.dli_fbase;
}

/// What MPI_SUBVERSION is in the modules and the mpif.h of MPICH's Fortran library, which are older than ours: of the
/// functions that are new in MPI-4.1 this is the first that it would have.
int fortran_subversion() {
  return ::dlsym(RTLD_DEFAULT, "mpi_buffer_flush_") ? 1 : 0;
}

}  // namespace

RMQ_MPI(int, Get_version, (int* version, int* subversion)) {
  static_assert(MPI_VERSION == 4 && MPI_SUBVERSION == 1);
  const bool from_fortran = is_in_fortran_library(__builtin_return_address(0));
  return enter_always([&] {
    *out(version, "version") = MPI_VERSION;
    *out(subversion, "subversion") = from_fortran ? fortran_subversion() : MPI_SUBVERSION;
  });
}

RMQ_MPI(int, Get_library_version, (char* version, int* resultlen)) {
  return enter_always([&] {
    out_text(out(version, "version"), MPI_MAX_LIBRARY_VERSION_STRING, out(resultlen, "resultlen"),
             fmt::format("RMQ {} (MPI {}.{}, MPICH ABI)", RMQ_VERSION, MPI_VERSION, MPI_SUBVERSION));
  });
}

namespace {

// Programs look the name up to connect there. Hosts that are pretended (NAME-0, NAME-1 …) have none that leads
// anywhere, but for all of them there are addresses of this machine alone.
std::string processor_name() {
  const std::string& name = runtime().device->job().host_name;
  const std::string pretended = boot::host_name() + "-";
  unsigned host = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(pretended) || std::from_chars(name.data() + pretended.size(), end, host).ptr != end)
    return name;
  constexpr unsigned kInLast = 254;  // without 0 and 255
  return fmt::format("127.{}.{}.{}", 1 + host / kInLast / 256, host / kInLast % 256, 1 + host % kInLast);
}

}  // namespace

RMQ_MPI(int, Get_processor_name, (char* name, int* resultlen)) {
  return enter(
      [&] { out_text(out(name, "name"), MPI_MAX_PROCESSOR_NAME, out(resultlen, "resultlen"), processor_name()); });
}

RMQ_MPI(int, Pcontrol, (const int, ...)) {
  return MPI_SUCCESS;
}

// The clock of this machine since it started: the same for all ranks of a host.
RMQ_MPI(double, Wtime, (void)) {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

RMQ_MPI(double, Wtick, (void)) {
  timespec t;
  ::clock_getres(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

namespace {

// Where memory begins that had to be aligned, by the address that the program has. With the device held.
std::unordered_map<void*, void*>& aligned_memory() {
  static std::unordered_map<void*, void*> all;
  return all;
}

/// nullptr: there is none.
void* allocate(std::size_t bytes, std::size_t alignment) {
  adi::Device& device = *runtime().device;
  if (alignment <= kCacheLine) return device.MPID_Mem_alloc(bytes);  // aligned so anyway
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX - bytes) return nullptr;
  std::size_t room = bytes + alignment;
  void* const memory = device.MPID_Mem_alloc(room);
  void* at = memory;
  if (memory && std::align(alignment, bytes, at, room) != memory) aligned_memory()[at] = memory;
  return at;
}

}  // namespace

RMQ_MPI(int, Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr)) {
  return enter([&] {
    if (size < 0) fail_call(MPI_ERR_ARG, fmt::format("argument size is negative: {}", size));
    const Info* const hints = optional_info_arg(info);
    out(baseptr, "baseptr");
    void* memory = allocate(static_cast<std::size_t>(size), hints ? alignment_of(*hints) : 1);
    if (!memory) fail_call(MPI_ERR_NO_MEM, fmt::format("no memory for {} bytes (argument size)", size));
    *static_cast<void**>(baseptr) = memory;
  });
}

RMQ_MPI(int, Free_mem, (void* base)) {
  return enter([&] {
    if (!base) return;
    if (const auto memory = aligned_memory().extract(base)) base = memory.mapped();
    runtime().device->MPID_Mem_free(base);
  });
}

RMQ_MPI(int, Get_address, (const void* location, MPI_Aint* address)) {
  return enter([&] { *out(address, "address") = reinterpret_cast<MPI_Aint>(location); });
}

RMQ_MPI(int, Address, (void* location, MPI_Aint* address)) {
  return enter([&] { *out(address, "address") = reinterpret_cast<MPI_Aint>(location); });
}

RMQ_MPI(MPI_Aint, Aint_add, (MPI_Aint base, MPI_Aint disp)) {
  return base + disp;
}

RMQ_MPI(MPI_Aint, Aint_diff, (MPI_Aint addr1, MPI_Aint addr2)) {
  return addr1 - addr2;
}

}  // namespace rmq::mpi
