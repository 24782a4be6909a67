// SPDX-License-Identifier: BSD-3-Clause
#include "engine/life/losses.hpp"

#include "engine/call/raise.hpp"
#include "engine/message/partitioned.hpp"

namespace rmq::mpi {
namespace {

/// The communicator that a message of ours belongs to; that of an inter-communicator's local group counts as the whole.
/// Null while it is being made.
const Comm* comm_of_message(const Request& m) {
  if (const Comm* c = Partitioned::comm_of(m)) return c;
  const std::uint32_t context = m.match.context & ~kCollective;
  const auto has = [&](const Comm& c) {
    if (c.context == 0) return &c == runtime().world && context == kWorldContext;
    return (m.kind == RequestKind::send ? c.context : c.recv_context) == context;
  };
  const Comm* found = nullptr;
  for (const Comm* c = Comm::newest; c != nullptr; c = c->older) {
    if (has(*c)) found = c;
    if (c->local != nullptr && has(*c->local)) return c;
  }
  return found;
}

}  // namespace

bool is_fatal(const Request& m) {
  if (!runtime().is_active()) return false;
  const Comm* const comm = comm_of_message(m);
  if (comm == nullptr || comm->errhandler == nullptr)
    return false;  // of one that is being made: the call that makes it fails
  const Errhandler* handler = &handler_of(*comm);
  runtime().windows.for_each([&](const Win& w) {
    if (w.comm == comm) handler = w.errhandler;
  });
  return handler->is_fatal();
}

}  // namespace rmq::mpi
