// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/comms.hpp"

namespace rmq::mpi {

Comm* create_comm(Comm& parent, Ranks world, Ranks remote) {
  const bool inter = parent.is_inter();
  const auto contexts = agree_on_contexts(everyone_of(parent), inter ? 2 : 1);
  if (world.place_of(runtime().device->rank()) < 0 || (inter && remote.empty())) {
    for (const std::uint32_t c : contexts.list) free_context(c);
    return nullptr;
  }
  NewComm made{contexts[0], new_group(std::move(world), parent.group->session)};
  made.traits = contexts.traits;  // of more than its members: they agree all the same
  if (inter) {
    made.remote = new_group(std::move(remote), parent.group->session);
    made.local_context = contexts[1];
  }
  return new_comm(parent, made);
}

}  // namespace rmq::mpi
