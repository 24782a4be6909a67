// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/words.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "methods/method.hpp"

namespace rmq::trace {
namespace {

struct Name {
  std::uint32_t id;
  std::string_view name;
};

constexpr std::string_view kNames[] = {
#define RMQ_MPI_FUNCTION(result, name, parameters) "MPI_" #name,
#define RMQ_MPIX_FUNCTION(result, name, parameters) "MPIX_" #name,
#include "mpi/include/rmq_mpi_functions.inc"
#define RMQ_MPI_FUNCTION(result, name, parameters) "MPI_" #name,
#define RMQ_MPIX_FUNCTION(result, name, parameters) "MPIX_" #name,
#include "mpi/include/rmq_mpi_functions_newer.inc"
    "rmq_queue_create", "rmq_queue_free", "rmq_queue_put", "rmq_queue_most",   "rmq_queue_get",       "rmq_queue_lock",
    "rmq_queue_unlock", "rmq_am_create",  "rmq_am_free",   "rmq_am_request",   "rmq_am_request_long", "rmq_am_attach",
    "rmq_am_poll",      "rmq_am_wait",    "rmq_am_flush",  "rmq_am_flush_all",
#define RMQ_SHMEM_CALL(name) "shmem_" #name,
#include "shmem/calls.def"
#define RMQ_ARMCI_CALL(name) "ARMCI_" #name,
#include "armci/calls.def"
};

constexpr auto by_id() {
  std::array<Name, std::size(kNames)> all{};
  std::transform(std::begin(kNames), std::end(kNames), all.begin(), [](std::string_view n) {
    return Name{call_id(n), n};
  });
  std::sort(all.begin(), all.end(), [](const Name& a, const Name& b) { return a.id < b.id; });
  return all;
}
constexpr auto kById = by_id();
static_assert(kById[0].id != 0 &&
                  std::adjacent_find(kById.begin(), kById.end(),
                                     [](const Name& a, const Name& b) { return a.id == b.id; }) == kById.end(),
              "two functions have one call_id(), or one has that of no call");

}  // namespace

std::string_view call_name(std::uint32_t id) {
  if (id == 0) return {};
  const auto at =
      std::lower_bound(kById.begin(), kById.end(), id, [](const Name& n, std::uint32_t i) { return n.id < i; });
  return at != kById.end() && at->id == id ? at->name : "MPI_?";
}

bool is_collective(std::string_view call) {
  constexpr std::string_view kCollectives[] = {
      "Barrier",
      "Bcast",
      "Gather",
      "Gatherv",
      "Scatter",
      "Scatterv",
      "Allgather",
      "Allgatherv",
      "Alltoall",
      "Alltoallv",
      "Alltoallw",
      "Reduce",
      "Allreduce",
      "Reduce_scatter",
      "Reduce_scatter_block",
      "Scan",
      "Exscan",
      "Comm_dup",
      "Comm_split",
      "Comm_split_type",
      "Comm_create",
      "Comm_create_group",
      "Comm_free",
      "Intercomm_create",
      "Intercomm_merge",
      "Win_create",
      "Win_allocate",
      "Win_allocate_shared",
      "Win_create_dynamic",
      "Win_free",
      "Win_fence",
      "Init",
      "Init_thread",
      "Finalize",
  };
  if (!call.starts_with("MPI_")) return false;
  call.remove_prefix(4);
  if (call.ends_with("_c")) call.remove_suffix(2);
  if (call.starts_with("Neighbor_")) return true;
  return std::find(std::begin(kCollectives), std::end(kCollectives), call) != std::end(kCollectives);
}

const EventKind* kind_of(Event event) {
  static const auto kTable = [] {
    std::array<const EventKind*, 256> table{};
    for (const EventKind& k : event_kinds()) table[static_cast<std::size_t>(k.event)] = &k;
    return table;
  }();
  return kTable[static_cast<std::size_t>(event)];
}

std::string_view method_word(std::uint8_t method) {
  return method ? methods::method_name(static_cast<methods::MethodId>(method)) : std::string_view{};
}

}  // namespace rmq::trace
