// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/comm.hpp"

#include <algorithm>
#include <atomic>

#include "engine/object/contexts.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi {

void release(Group* g) {
  if (!g->predefined && --g->refs == 0) runtime().groups.remove(g);
}

void release(Errhandler* e) {
  // Releases pair with each other: the last one sees what all before have done.
  if (handle_storage(e->handle) == kDynamic && std::atomic_ref(e->refs).fetch_sub(1, std::memory_order_acq_rel) == 1)
    runtime().errhandlers.remove(e);
}

void end_of(Comm* c) {
  ft::end(*c);
  if (c->local) release(c->local);
  if (c->remote) release(c->remote);
  release(c->group);
  release(c->errhandler);
  if (c->context != 0 && !c->littered) free_context(c->context);
  delete c;
}

void drop_handle(Comm* c) {
  static_cast<void>(runtime().comms.take(c).release());
  c->handle = MPI_COMM_NULL;
  release(c);
}

int compare(const Group& a, const Group& b) {
  if (a.world == b.world) return MPI_IDENT;
  const bool same_members = a.size() == b.size() && std::all_of(a.world.begin(), a.world.end(),
                                                                [&](Rank r) { return b.place_of(r) != MPI_UNDEFINED; });
  return same_members ? MPI_SIMILAR : MPI_UNEQUAL;
}

Group* new_group(Ranks world, int session) {
  Runtime& rt = runtime();
  if (world.empty()) return &rt.empty_group;
  auto g = std::make_unique<Group>();
  g->world = std::move(world);
  g->session = session;
  g->rank = g->place_of(rt.device->rank());
  return rt.groups.add(std::move(g));
}

Comm* new_comm(const Comm& parent, const NewComm& made) {
  auto c = std::make_unique<Comm>();
  c->device = parent.device;
  c->terms = made.terms ? made.terms : parent.terms;
  c->traits = made.traits;
  c->context = c->recv_context = made.context;
  c->group = made.group;
  c->rank = made.group->rank;
  c->errhandler = parent.errhandler;
  retain(*c->errhandler);
  if (made.remote) {
    c->remote = made.remote;
    auto local = std::make_unique<Comm>();
    local->device = c->device;
    local->terms = parent.terms;
    local->traits = made.traits;
    local->context = local->recv_context = made.local_context;
    local->group = made.group;
    retain(*local->group);
    local->rank = c->rank;
    local->errhandler = parent.errhandler;
    retain(*local->errhandler);
    c->local = local.release();  // has no handle: the communicator's own
  }
  Comm* const added = runtime().comms.add(std::move(c));
  if (made.context != 0) ft::begin(*added);
  return added;
}

}  // namespace rmq::mpi
