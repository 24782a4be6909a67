// SPDX-License-Identifier: BSD-3-Clause
#include "armci/world.hpp"

#include "armci/call.hpp"
#include "armci/mutex.hpp"
#include "engine/coll/coll.hpp"

namespace rmq::armci {

constinit detail::Immortal detail::instance;

namespace {

void finish() {
  World& w = world();
  const auto last = [&] {
    complete(-1, false);
    mpi::coll::barrier(*w.comm);
    destroy_mutexes();
    while (!w.allocations.empty()) free(*w.allocations.back());
    mpi::coll::barrier(*w.comm);
  };
  const auto drop = [&] {
    end_groups();
    w.peers.reset();
  };
  w.end(fn::Finalize, last, drop);
}

}  // namespace

void start(int level, const MPI_Comm* comm) {
  World& w = world();
  const auto meet = [&] {
    mpi::Comm* const parent = comm ? mpi::find_comm(*comm) : mpi::runtime().world;
    if (!parent || parent->is_inter()) die(fn::Init, "the communicator is none, or an inter-communicator");
    mpi::Comm* const all = mpi::create_comm(*parent, parent->group->world);
    all->name = "ARMCI's world";
    return all;
  };
  const auto open = [&] {
    w.peers = std::make_unique<Peer[]>(w.size);
    w.threads = mpi::runtime().thread_level == MPI_THREAD_MULTIPLE;
    for (unsigned i = 0; i < w.size; ++i) w.peers[i].forget();
    make_first_group();
  };
  w.start(level, fn::Init, {[] {}, meet, open, finish});
}

void end() {
  if (world().is_last_end()) finish();
}

}  // namespace rmq::armci
