// SPDX-License-Identifier: BSD-3-Clause
// What functions on sessions share.
#pragma once

#include "engine/call/call.hpp"

namespace rmq::mpi {

inline Session& session_arg(MPI_Session handle, const char* name = "session") {
  Session* s = runtime().sessions.find(handle);
  if (!s) detail::bad_handle(MPI_ERR_SESSION, handle, name);
  return *s;
}

/// The frame of functions on a session: `body(Session&)`. Errors go to the session's handler.
template <class Body>
int enter_session(MPI_Session session, Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (!rt.is_active()) detail::refuse(function);
  try {
    adi::Device::Entry entry(*rt.device, function, function.id);
    body(session_arg(session));
    return MPI_SUCCESS;
  } catch (...) {
    return detail::raise_caught(session, function);
  }
}

}  // namespace rmq::mpi
