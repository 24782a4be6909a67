// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/binding.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace rmq::launch {

namespace {

struct Named {
  std::string_view name;
  Part part;
};

constexpr Named kNames[] = {
    {"hwthread", Part::hwthread}, {"core", Part::core},      {"l3cache", Part::cache},   {"l3", Part::cache},
    {"numa", Part::numa},         {"socket", Part::package}, {"package", Part::package},
};

hwloc_obj_type_t type_of(Part part) {
  switch (part) {
    case Part::hwthread:
      return HWLOC_OBJ_PU;
    case Part::core:
      return HWLOC_OBJ_CORE;
    case Part::cache:
      return HWLOC_OBJ_L3CACHE;
    case Part::numa:
      return HWLOC_OBJ_NUMANODE;
    case Part::package:
      return HWLOC_OBJ_PACKAGE;
  }
  return HWLOC_OBJ_PU;
}

// This machine as libhwloc sees it; its soname is that of hwloc 2.
class Machine {
 public:
  static Result<Machine> open() {
    Machine one;
    one.library_ = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (one.library_ == nullptr)
      return fail(Errc::system,
                  "ranks cannot be bound without libhwloc.so.15 (Debian: libhwloc15); install it, or leave "
                  "--bind away");
    decltype(&hwloc_topology_init) init = nullptr;
    decltype(&hwloc_topology_load) load = nullptr;
    const bool whole =
        one.find(init, "hwloc_topology_init") && one.find(load, "hwloc_topology_load") &&
        one.find(one.destroy_, "hwloc_topology_destroy") && one.find(one.depth_of_, "hwloc_get_type_depth") &&
        one.find(one.count_at_, "hwloc_get_nbobjs_by_depth") && one.find(one.object_at_, "hwloc_get_obj_by_depth") &&
        one.find(one.is_set_, "hwloc_bitmap_isset") && one.find(one.last_, "hwloc_bitmap_last");
    if (!whole || init(&one.topology_) != 0 || load(one.topology_) != 0)
      return fail(Errc::system, "libhwloc.so.15 cannot tell what this machine has");
    return one;
  }

  Machine(Machine&& other) noexcept { *this = std::move(other); }
  Machine& operator=(Machine&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(topology_, other.topology_);
    destroy_ = other.destroy_, depth_of_ = other.depth_of_, count_at_ = other.count_at_;
    object_at_ = other.object_at_, is_set_ = other.is_set_, last_ = other.last_;
    return *this;
  }
  ~Machine() {
    if (topology_ != nullptr) destroy_(topology_);
    if (library_ != nullptr) ::dlclose(library_);
  }

  // The CPUs of each part of this kind that are allowed; parts without any are left out.
  std::vector<CpuSet> parts(Part part, const std::function<bool(int cpu)>& allowed) const {
    std::vector<CpuSet> out;
    const int depth = depth_of_(topology_, type_of(part));
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return out;
    for (unsigned i = 0; i < count_at_(topology_, depth); ++i) {
      const hwloc_const_cpuset_t set = object_at_(topology_, depth, i)->cpuset;
      CpuSet cpus;
      for (int cpu = 0; cpu <= last_(set); ++cpu)
        if (is_set_(set, static_cast<unsigned>(cpu)) != 0 && allowed(cpu)) cpus.push_back(cpu);
      if (!cpus.empty()) out.push_back(std::move(cpus));
    }
    return out;
  }

 private:
  Machine() = default;
  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  void* library_ = nullptr;
  hwloc_topology_t topology_ = nullptr;
  decltype(&hwloc_topology_destroy) destroy_ = nullptr;
  decltype(&hwloc_get_type_depth) depth_of_ = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count_at_ = nullptr;
  decltype(&hwloc_get_obj_by_depth) object_at_ = nullptr;
  decltype(&hwloc_bitmap_isset) is_set_ = nullptr;
  decltype(&hwloc_bitmap_last) last_ = nullptr;
};

// One of each group in turn.
std::vector<CpuSet> dealt(const std::vector<CpuSet>& places, const std::vector<CpuSet>& groups) {
  std::vector<std::vector<CpuSet>> in_group(groups.size() + 1);  // the last: of none
  for (const CpuSet& place : places) {
    const auto group = std::ranges::find_if(
        groups, [&](const CpuSet& cpus) { return std::ranges::binary_search(cpus, place.front()); });
    in_group[static_cast<std::size_t>(group - groups.begin())].push_back(place);
  }
  std::vector<CpuSet> out;
  for (std::size_t turn = 0; out.size() < places.size(); ++turn)
    for (const auto& group : in_group)
      if (turn < group.size()) out.push_back(group[turn]);
  return out;
}

// So many neighbours each; what is left over at the end is nobody's, unless it is all there is.
std::vector<CpuSet> together(const std::vector<CpuSet>& places, std::size_t each) {
  std::vector<CpuSet> out;
  for (std::size_t i = 0; i < places.size(); i += each) {
    if (i + each > places.size() && !out.empty()) break;
    CpuSet& all = out.emplace_back();
    for (std::size_t j = i; j < std::min(i + each, places.size()); ++j)
      all.insert(all.end(), places[j].begin(), places[j].end());
    std::ranges::sort(all);
  }
  return out;
}

}  // namespace

std::optional<Part> part_of(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &Named::name);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->part);
}

std::string_view name_of(Part part) {
  return std::ranges::find(kNames, part, &Named::part)->name;
}

Result<std::vector<CpuSet>> find_places(const Binding& binding, const std::function<bool(int cpu)>& allowed) {
  if (!binding.to) return {};
  auto machine = Machine::open();
  if (!machine) return tl::make_unexpected(machine.error());
  auto places = machine->parts(*binding.to, allowed);
  if (places.empty())
    return fail(Errc::system, fmt::format("--bind {}: there is no {} here that this job may use", name_of(*binding.to),
                                          name_of(*binding.to)));
  if (binding.spread && *binding.spread > *binding.to) places = dealt(places, machine->parts(*binding.spread, allowed));
  return together(places, static_cast<std::size_t>(binding.each));
}

std::function<bool(int cpu)> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return [](int) { return true; };
  return [set](int cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &set); };
}

std::string format_cpus(const CpuSet& cpus) {
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    out += out.empty() ? "" : ",";
    out += end - i > 1 ? fmt::format("{}-{}", cpus[i], cpus[end - 1]) : std::to_string(cpus[i]);
    i = end;
  }
  return out;
}

}  // namespace rmq::launch
