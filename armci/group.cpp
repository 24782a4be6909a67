// SPDX-License-Identifier: BSD-3-Clause
// Groups: communicators of MPI's inside, which members alone make together.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "armci/call.hpp"
#include "armci/include/armcix.h"
#include "engine/coll/coll.hpp"

namespace rmq::armci {
namespace {

// Tags of agreements among members of a new group.
constexpr int kGroupTags = 1 << 29;

// Of a handle of the table ARMCI's has the lower bits: it is not negative, and that of the first group is 0.
ARMCI_Group add(mpi::Comm* comm) {
  const Group* const made = world().groups->add(std::make_unique<Group>(Group{comm}));
  return static_cast<ARMCI_Group>(mpi::handle_index(made->handle));
}
Group* find_group(ARMCI_Group group) {
  const auto index = static_cast<std::uint32_t>(group);
  const int handle = mpi::make_handle(mpi::kDynamic, mpi::ObjectKind::group, index);
  return mpi::handle_index(handle) == index ? world().groups->find(handle) : nullptr;
}

// The group of these members of the parent, in this order; -1 for who is none of them.
ARMCI_Group make(Group& parent, const std::vector<int>& members) {
  const auto me = std::find(members.begin(), members.end(), parent.me());
  if (me == members.end()) return -1;
  std::vector<Rank> ranks;
  std::uint32_t hash = 0;
  for (const int m : members) {
    if (m < 0 || m >= parent.size())
      die(fn::Group_create,
          fmt::format("there is no process {} in the parent (there are 0..{})", m, parent.size() - 1));
    if (std::count(members.begin(), members.end(), m) > 1)
      die(fn::Group_create, fmt::format("process {} is named twice", m));
    ranks.push_back(parent.comm->world_of(m));
    hash = hash * 8191 + static_cast<std::uint32_t>(m) + 1;
  }
  // Members alone agree: their tag is made of the group, which all of them know.
  const int tag = kGroupTags | static_cast<int>(hash % kGroupTags);
  const mpi::Party party{*parent.comm, members, static_cast<int>(me - members.begin()), tag};
  const auto contexts = mpi::agree_on_contexts(party, 1);
  mpi::NewComm made{contexts[0], mpi::new_group(Ranks(ranks))};
  made.traits = contexts.traits;
  mpi::Comm* const comm = mpi::new_comm(*parent.comm, made);
  comm->name = "an ARMCI group";
  return add(comm);
}

void create(int count, const int* members, ARMCI_Group* group, const ARMCI_Group* parent) {
  *group = enter(fn::Group_create, [&] {
    return make(group_of(fn::Group_create, parent), std::vector<int>(members, members + std::max(count, 0)));
  });
}

// Those of the parent who bring the same color, by key.
ARMCI_Group split(Group& parent, int color, int key) {
  const std::uint64_t mine[] = {static_cast<std::uint32_t>(color), static_cast<std::uint32_t>(key)};
  const auto all = mpi::gather_all(mpi::whole_party(*parent.comm), mine);
  std::vector<int> members;
  for (int i = 0; i < parent.size(); ++i)
    if (all[2 * static_cast<std::size_t>(i)] == mine[0]) members.push_back(i);
  const auto key_of = [&](int m) { return static_cast<int>(all[2 * static_cast<std::size_t>(m) + 1]); };
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return key_of(a) < key_of(b); });
  return make(parent, members);
}

}  // namespace

Group& group_of(const char* function, const ARMCI_Group* group) {
  if (world().size == 0) refuse(function);
  Group* const found = group ? find_group(*group) : nullptr;
  if (!found) die(function, "the group is none, or this process is not in it");
  return *found;
}

void make_first_group() {
  World& w = world();
  w.groups = std::make_unique<Groups>();
  const ARMCI_Group first = add(w.comm);
  w.all = find_group(first);
}

void end_groups() {
  World& w = world();
  w.groups->for_each([](Group& g) { mpi::drop_handle(g.comm); });
  w.groups.reset();
  w.all = nullptr;
  w.default_group.store(0, std::memory_order_relaxed);
  w.comm = nullptr;
}

RMQ_ARMCI(void, Group_create, (int count, int* members, ARMCI_Group* group)) {
  const ARMCI_Group parent = world().default_group.load(std::memory_order_relaxed);
  create(count, members, group, &parent);
}
RMQ_ARMCI(void, Group_create_child, (int count, int* members, ARMCI_Group* group, ARMCI_Group* parent)) {
  create(count, members, group, parent);
}
RMQ_ARMCI(void, Group_free, (ARMCI_Group * group)) {
  if (*group == -1) return;
  enter(fn::Group_free, [&] {
    Group& g = group_of(fn::Group_free, group);
    if (*group == 0) die(fn::Group_free, "the group of all processes is not to be freed");
    mpi::coll::barrier(*g.comm);  // its context may be given to another when all are here
    mpi::drop_handle(g.comm);
    world().groups->remove(&g);
    ARMCI_Group gone = *group;
    world().default_group.compare_exchange_strong(gone, 0, std::memory_order_relaxed);
  });
  *group = -1;
}

RMQ_ARMCI(int, Group_rank, (ARMCI_Group * group, int* rank)) {
  *rank = *group == -1 ? -1 : group_of("ARMCI_Group_rank", group).me();
  return *rank < 0 ? 1 : 0;
}
RMQ_ARMCI(void, Group_size, (ARMCI_Group * group, int* size)) {
  *size = group_of("ARMCI_Group_size", group).size();
}
RMQ_ARMCI(void, Group_set_default, (ARMCI_Group * group)) {
  group_of("ARMCI_Group_set_default", group);
  world().default_group.store(*group, std::memory_order_relaxed);
}
RMQ_ARMCI(void, Group_get_default, (ARMCI_Group * group)) {
  *group = world().default_group.load(std::memory_order_relaxed);
}
RMQ_ARMCI(void, Group_get_world, (ARMCI_Group * group)) {
  *group = 0;
}
RMQ_ARMCI(int, Absolute_id, (ARMCI_Group * group, int rank)) {
  const Group& g = group_of("ARMCI_Absolute_id", group);
  if (rank < 0 || rank >= g.size()) die("ARMCI_Absolute_id", fmt::format("there is no process {} in the group", rank));
  return world().comm->group->place_of(g.comm->world_of(rank));
}

extern "C" {
RMQ_EXPORT MPI_Comm armci_group_comm(ARMCI_Group* group) {
  return group_of("armci_group_comm", group).comm->handle;
}
RMQ_EXPORT int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* group) {
  *group = enter(fn::Group_create, [&] { return split(group_of(fn::Group_create, parent), color, key); });
  return 0;
}
RMQ_EXPORT int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* group) {
  *group = enter(fn::Group_create, [&] { return split(group_of(fn::Group_create, parent), 0, 0); });
  return 0;
}
}

}  // namespace rmq::armci
