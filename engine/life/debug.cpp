// SPDX-License-Identifier: BSD-3-Clause
// What debuggers look for in a rank: MPIR_dll_name leads them to the library that reads the message queues
// (tools/debug/msgq.cpp), rmq_debug_root leads that library to the queues, MPIR_debug_gate lets a waiting rank go on.
#include <dlfcn.h>
#include <time.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/record/debug_root.hpp"
#include "engine/life/life.hpp"
#include "engine/object/runtime.hpp"

extern "C" {
[[gnu::visibility("default"), gnu::used]] char MPIR_dll_name[4096] = "librmq_msgq.so";
[[gnu::visibility("default"), gnu::used]] volatile int MPIR_debug_gate = 0;
[[gnu::visibility("default"), gnu::used]] rmq::DebugRoot rmq_debug_root = {};
}

namespace rmq::mpi {
namespace {

// The library of the debugger lies beside this one. Before main, for a debugger may stop there.
[[gnu::constructor]] void name_library() {
  Dl_info info{};
  if (::dladdr(MPIR_dll_name, &info) == 0 || !info.dli_fname) return;
  const std::string_view self = info.dli_fname, file = "librmq_msgq.so";
  const std::size_t folder = self.rfind('/') + 1;  // 0 without one
  if (folder + file.size() >= sizeof MPIR_dll_name) return;
  std::memcpy(MPIR_dll_name, self.data(), folder);
  std::memcpy(MPIR_dll_name + folder, file.data(), file.size());
  MPIR_dll_name[folder + file.size()] = 0;
}

std::uint64_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace

void publish_debug_root() {
  Runtime& rt = runtime();
  DebugRoot& d = rmq_debug_root;
  d.bytes = sizeof d;
  d.rank = rt.device->rank();
  d.size = rt.device->size();
  d.slabs = address(rt.device->pool().slabs_for_debugger());
  d.slab_requests = RequestPool::kSlab;
  d.request_bytes = sizeof(Request);
  d.request = {offsetof(Request, incomplete),
               offsetof(Request, kind),
               offsetof(Request, step),
               offsetof(Request, flags),
               offsetof(Request, match),
               offsetof(Request, peer),
               offsetof(Request, stamp),
               offsetof(Request, self) + offsetof(Handle, generation),
               offsetof(Request, view) + offsetof(DataView, base),
               offsetof(Request, view) + offsetof(DataView, bytes),
               offsetof(Request, packet),
               offsetof(Request, owned),
               offsetof(Request, owned_bytes)};
  d.world = address(rt.world);
  d.self = address(rt.self);
  d.comms = address(rt.comms.slots_for_debugger());
  constexpr std::uint32_t ranks = offsetof(Group, world);
  constexpr Ranks::Offsets in = Ranks::offsets_for_debugger();
  d.comm = {offsetof(Comm, context), offsetof(Comm, recv_context),
            offsetof(Comm, rank),    offsetof(Comm, group),
            offsetof(Comm, remote),  offsetof(Comm, name),
            ranks + in.list,         ranks + in.first,
            ranks + in.stride,       ranks + in.size};
  std::memcpy(d.magic, DebugRoot::kMagic, sizeof d.magic);
}

void wait_for_debugger() {
  while (MPIR_debug_gate == 0) {
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace rmq::mpi
