// SPDX-License-Identifier: BSD-3-Clause
// Life of communicators and groups: who holds them, how they begin and end. Everything here needs the device held.
#pragma once

#include <atomic>
#include <optional>

#include "engine/object/runtime.hpp"

namespace rmq::mpi {

inline void retain(Comm& c) {
  ++c.refs;
}
/// What the last reference does: gives the contexts back and lets go of groups and error handler.
void end_of(Comm* c);
inline void release(Comm* c) {
  if (--c->refs == 0) [[unlikely]]
    end_of(c);
}
inline void retain(Group& g) {
  ++g.refs;
}
void release(Group* g);
/// Atomic, as those of no other object: sessions begin in any thread.
inline void retain(Errhandler& e) {
  std::atomic_ref(e.refs).fetch_add(1, std::memory_order_relaxed);  // relaxed: who has one gives another
}
void release(Errhandler* e);

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& a, const Group& b);
/// A group of these world ranks, in this order, with one reference; MPI_GROUP_EMPTY when there are none. `session`:
/// that of the group that it is made from.
Group* new_group(Ranks world, int session = MPI_SESSION_NULL);

/// A communicator over `group` (and `remote`), whose references it takes over, in contexts that have been agreed on (or
/// 0: they come later). It inherits the error handler of `parent` and is in the table of user handles.
struct NewComm {
  std::uint32_t context;
  Group* group;
  Group* remote = nullptr;             // of an inter-communicator
  std::uint32_t local_context = 0;     // of an inter-communicator: context of its local intra-communicator
  const coll::Terms* terms = nullptr;  // where they are not those of the parent
  std::optional<coll::Traits> traits = std::nullopt;  // nothing: they come with the contexts
};
Comm* new_comm(const Comm& parent, const NewComm& made);
/// Its handle ends; it lives on as long as others hold it.
void drop_handle(Comm* c);
inline MPI_Comm handle_or_null(const Comm* c) {
  return c ? c->handle : MPI_COMM_NULL;
}

}  // namespace rmq::mpi
