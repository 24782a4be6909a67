// SPDX-License-Identifier: BSD-3-Clause
// Chapter 15.3: life of the tools interface, enumerations, strings.
#include <algorithm>
#include <array>
#include <cstring>

#include "mpi/define.hpp"
#include "mpi/tool/tool_events.hpp"

struct MPIR_T_enum_s {
  std::string_view name;
  std::array<std::string_view, 2> items;  // item i has the value i
};

namespace rmq::mpi::tool {
namespace {

MPIR_T_enum_s flags{"flag", {"off", "on"}};

const MPIR_T_enum_s& enum_arg(MPI_T_enum handle) {
  if (handle != &flags) refuse(MPI_T_ERR_INVALID_HANDLE);
  return *handle;
}

}  // namespace

State& state() {
  static State* const one = new State;  // never destroyed, like the runtime
  return *one;
}

void put_text(char* to, int* room, std::string_view text) {
  if (!room) return;
  if (to && *room > 0) {
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(*room - 1));
    std::memcpy(to, text.data(), n);
    to[n] = '\0';
  }
  *room = static_cast<int>(text.size() + 1);
}

MPI_T_enum flag_enum() {
  return &flags;
}

// Any thread may call at any time, whatever is asked for. While MPI itself has no MPI_THREAD_MULTIPLE, what another
// thread than MPI's reads may be a little old.
RMQ_MPI(int, T_init_thread, (int required, int* provided)) {
  if (in_callback) return MPI_T_ERR_NOT_ACCESSIBLE;
  const std::lock_guard lock(state().mutex);
  if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE) return MPI_T_ERR_CANNOT_INIT;
  put(provided, required);
  ++state().users;
  return MPI_SUCCESS;
}

RMQ_MPI(int, T_finalize, (void)) {
  return enter([] {
    if (--state().users > 0) return MPI_SUCCESS;
    end_cvar_handles();
    end_pvar_sessions();
    end_event_handles();
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_enum_get_info, (MPI_T_enum enumtype, int* num, char* name, int* name_len)) {
  return enter([&] {
    const MPIR_T_enum_s& e = enum_arg(enumtype);
    put(num, static_cast<int>(e.items.size()));
    put_text(name, name_len, e.name);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_enum_get_item, (MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len)) {
  return enter([&]() -> int {
    const MPIR_T_enum_s& e = enum_arg(enumtype);
    if (indx < 0 || indx >= std::ssize(e.items)) return MPI_T_ERR_INVALID_ITEM;
    put(value, indx);
    put_text(name, name_len, e.items[static_cast<std::size_t>(indx)]);
    return MPI_SUCCESS;
  });
}

}  // namespace rmq::mpi::tool
