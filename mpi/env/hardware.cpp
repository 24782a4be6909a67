// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/hardware.hpp"

#include <dlfcn.h>
#include <hwloc.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <type_traits>

namespace rmq::mpi {
namespace {

/// libhwloc, opened with the first question: a program that asks none neither loads it nor waits while it looks at the
/// machine (some milliseconds). Its soname is that of hwloc 2.
class Hwloc {
 public:
  Hwloc() {
    void* const library = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    decltype(&hwloc_topology_init) init;
    decltype(&hwloc_topology_load) look;
    if (!load(init, "hwloc_topology_init") || !load(look, "hwloc_topology_load") ||
        !load(depth_of, "hwloc_get_type_depth") || !load(objects_at, "hwloc_get_nbobjs_by_depth") ||
        !load(object_at, "hwloc_get_obj_by_depth") || !load(bound_to, "hwloc_get_cpubind") ||
        !load(make_set, "hwloc_bitmap_alloc") || !load(free_set, "hwloc_bitmap_free") ||
        !load(is_within, "hwloc_bitmap_isincluded") || !load(type_of, "hwloc_type_sscanf") ||
        !load(name_of, "hwloc_obj_type_string")) {
      return;
    }
    if (init(&topology) != 0 || look(topology) != 0) topology = nullptr;
  }

  hwloc_topology_t topology = nullptr;  // of this machine; lives as long as the process. nullptr: not known
  decltype(&hwloc_get_type_depth) depth_of;
  decltype(&hwloc_get_nbobjs_by_depth) objects_at;
  decltype(&hwloc_get_obj_by_depth) object_at;
  decltype(&hwloc_get_cpubind) bound_to;
  decltype(&hwloc_bitmap_alloc) make_set;
  decltype(&hwloc_bitmap_free) free_set;
  decltype(&hwloc_bitmap_isincluded) is_within;
  decltype(&hwloc_type_sscanf) type_of;
  decltype(&hwloc_obj_type_string) name_of;
};

const Hwloc& hwloc() {
  static const auto* const one = new Hwloc;  // never destroyed, like the runtime
  return *one;
}

/// Where objects of a type are in the tree; nothing when there are none with CPUs.
std::optional<int> depth_of(const Hwloc& h, hwloc_obj_type_t type) {
  const int depth = h.depth_of(h.topology, type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return std::nullopt;
  const hwloc_obj_t first = h.object_at(h.topology, depth, 0);
  return first && first->cpuset ? std::optional(depth) : std::nullopt;
}

Resource resource_of(const Hwloc& h, hwloc_obj_type_t type, int depth) {
  Resource found{h.name_of(type), std::nullopt};
  const hwloc_bitmap_t bound = h.make_set();
  if (bound && h.bound_to(h.topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
    const unsigned n = h.objects_at(h.topology, depth);
    for (unsigned i = 0; i < n && !found.instance; ++i) {
      if (h.is_within(bound, h.object_at(h.topology, depth, i)->cpuset)) found.instance = i;
    }
  }
  if (bound) h.free_set(bound);
  return found;
}

}  // namespace

std::vector<Resource> resources() {
  constexpr hwloc_obj_type_t kTypes[] = {HWLOC_OBJ_MACHINE,  HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE,
                                         HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
                                         HWLOC_OBJ_L1CACHE,  HWLOC_OBJ_CORE,    HWLOC_OBJ_PU};
  const Hwloc& h = hwloc();
  std::vector<Resource> all;
  for (const hwloc_obj_type_t type : kTypes) {
    if (!h.topology) break;
    if (const auto depth = depth_of(h, type)) all.push_back(resource_of(h, type, *depth));
  }
  return all;
}

std::optional<Resource> find_resource(std::string_view value) {
  if (value.size() >= kHwlocScheme.size() &&
      ::strncasecmp(value.data(), kHwlocScheme.data(), kHwlocScheme.size()) == 0) {
    value.remove_prefix(kHwlocScheme.size());
  }
  // hwloc takes any text that begins as a name does.
  if (value.empty() || !std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isalnum(c) != 0; }))
    return std::nullopt;
  const Hwloc& h = hwloc();
  hwloc_obj_type_t type;
  if (!h.topology || h.type_of(std::string(value).c_str(), &type, nullptr, 0) < 0) return std::nullopt;
  const auto depth = depth_of(h, type);
  return depth ? std::optional(resource_of(h, type, *depth)) : std::nullopt;
}

}  // namespace rmq::mpi
