// Chapter 7.4.2: communicators from groups and by splitting.
#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "mpi/internal/comms.hpp"

namespace rmq::mpi {
namespace {

// Tags of agreements that only some members of a communicator take part in: above those of collectives.
constexpr int kGroupTags = 1 << 29;

using Words = std::vector<std::uint64_t>;

/// What one process asks of a split: its colour and key, 32 bits each. MPI_UNDEFINED as colour: nothing.
struct Wish {
  int color, key;
};
std::uint64_t word_of(Wish w) {
  return (std::uint64_t{static_cast<std::uint32_t>(w.color)} << 32) | static_cast<std::uint32_t>(w.key);
}
Wish wish_of(std::uint64_t word) {
  return {static_cast<int>(word >> 32), static_cast<int>(static_cast<std::uint32_t>(word))};
}

/// World ranks of those who wish for `color`, by key, then by rank.
std::vector<Rank> members(const Group& group, const Words& wishes, int color) {
  std::vector<std::pair<int, Rank>> chosen;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (const Wish w = wish_of(wishes[i]); w.color == color) chosen.emplace_back(w.key, group.world[i]);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Rank> world;
  world.reserve(chosen.size());
  for (const auto& [key, rank] : chosen) world.push_back(rank);
  return world;
}

MPI_Comm split(Comm& c, Wish mine) {
  const std::uint64_t word = word_of(mine);
  note_collective(c);
  const Words ours = gather_all(whole_party(c), {&word, 1});
  Words theirs;
  if (c.is_inter()) theirs = exchange(whole_party(c), bridge_of(c), ours);
  if (mine.color == MPI_UNDEFINED) return handle_or_null(create_comm(c, {}));
  std::vector<Rank> remote;
  if (c.is_inter()) remote = members(*c.remote, theirs, mine.color);
  return handle_or_null(create_comm(c, members(*c.group, ours, mine.color), std::move(remote)));
}

// The part of the hardware that ranks can tell apart: those who share memory, a host (MPI-4.0, section 7.4.2).
constexpr const char *kResourceKey = "mpi_hw_resource_type", *kSharedMemory = "mpi_shared_memory";

bool is_mixed(const Comm& c) {
  const adi::Device& d = *c.device;
  return d.MPID_Any_foreign(c.group->world) || (c.remote && d.MPID_Any_foreign(c.remote->world));
}
std::uint64_t host_of(const Comm& c, Rank r) {
  return c.device->MPID_Host(r, is_mixed(c));
}
/// As a colour: the same for all members of a host.
int own_host(const Comm& c) {
  return static_cast<int>(host_of(c, c.device->rank()) & INT_MAX);
}
bool on_one_host(const Comm& c) {
  const std::uint64_t mine = host_of(c, c.device->rank());
  const auto ours = [&](const Group* g) {
    return !g || std::all_of(g->world.begin(), g->world.end(), [&](Rank r) { return host_of(c, r) == mine; });
  };
  return ours(c.group) && ours(c.remote);
}
bool wants_shared_memory(const Info* hints) {
  return hints && std::find(hints->entries.begin(), hints->entries.end(),
                            std::pair<std::string, std::string>(kResourceKey, kSharedMemory)) != hints->entries.end();
}
void set_entry(Info& info, const char* key, const char* value) {
  std::erase_if(info.entries, [&](const auto& e) { return e.first == key; });
  info.entries.emplace_back(key, value);
}

Words words_of(const Ranks& ranks) {
  return Words(ranks.begin(), ranks.end());
}
std::vector<Rank> ranks_of(const Words& words) {
  std::vector<Rank> ranks;
  for (const std::uint64_t w : words) ranks.push_back(static_cast<Rank>(w));
  return ranks;
}

void check_subset(const Group& group, const Comm& c) {
  for (const Rank r : group.world) {
    if (c.group->place_of(r) == MPI_UNDEFINED) {
      fail_call(MPI_ERR_GROUP, fmt::format("argument group has a member (world rank {}) that is not in comm", r));
    }
  }
}

/// Agreement of the group's members alone.
MPI_Comm create_group(Comm& c, const Group& group, int tag) {
  Party party{c, {}, group.rank, kGroupTags + tag};
  for (const Rank r : group.world) party.ranks.push_back(c.group->place_of(r));
  const auto contexts = agree_on_contexts(party, {}, 1);
  return new_comm(c, NewComm{contexts[0], new_group(group.world)})->handle;
}

}  // namespace

Comm* create_comm(Comm& parent, Ranks world, Ranks remote) {
  const bool inter = parent.is_inter();
  const auto contexts = agree_on_contexts(whole_party(parent), bridge_of(parent), inter ? 2 : 1);
  if (world.place_of(runtime().device->rank()) < 0 || (inter && remote.empty())) {
    for (const std::uint32_t c : contexts) free_context(c);
    return nullptr;
  }
  NewComm made{contexts[0], new_group(std::move(world))};
  if (inter) {
    made.remote = new_group(std::move(remote));
    made.local_context = contexts[1];
  }
  return new_comm(parent, made);
}

RMQ_MPI(int, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    const Group& g = group_arg(group);
    check_subset(g, c);
    Ranks world = g.world, remote;
    note_collective(c);
    if (c.is_inter()) remote = ranks_of(exchange(whole_party(c), bridge_of(c), words_of(world)));
    *newcomm = handle_or_null(create_comm(c, std::move(world), std::move(remote)));
  });
}

RMQ_MPI(int, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    const Group& g = group_arg(group);
    tag_arg(tag);
    check_subset(g, c);
    if (g.rank != MPI_UNDEFINED) *newcomm = create_group(c, g, tag);
  });
}

RMQ_MPI(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    if (color < 0 && color != MPI_UNDEFINED) {
      fail_call(MPI_ERR_ARG,
                fmt::format("invalid color {} (argument color; allowed 0 and up and MPI_UNDEFINED)", color));
    }
    *newcomm = split(c, {color, key});
  });
}

RMQ_MPI(int, Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    Info* const hints = optional_info_arg(info);
    const int host = own_host(c);
    switch (split_type) {
      case MPI_COMM_TYPE_SHARED:
        *newcomm = split(c, {host, key});
        return;
      case MPI_COMM_TYPE_HW_GUIDED:
      case MPI_COMM_TYPE_RESOURCE_GUIDED:  // without its key MPIX_COMM_TYPE_NEIGHBORHOOD, of which nothing is known
        *newcomm = split(c, {wants_shared_memory(hints) ? host : MPI_UNDEFINED, key});
        return;
      case MPI_COMM_TYPE_HW_UNGUIDED:
        *newcomm = split(c, {on_one_host(c) ? MPI_UNDEFINED : host, key});
        if (hints && *newcomm != MPI_COMM_NULL) set_entry(*hints, kResourceKey, kSharedMemory);
        return;
      case MPI_UNDEFINED:
        *newcomm = split(c, {MPI_UNDEFINED, key});
        return;
      default:
        fail_call(MPI_ERR_ARG, fmt::format("invalid split_type {} (argument split_type)", split_type));
    }
  });
}

// MPI-4.1: the resources that MPI_Comm_split_type knows, and whether this process is bound to one of each.
RMQ_MPI(int, Get_hw_resource_info, (MPI_Info * hw_info)) {
  return enter_any_time([&] {
    out(hw_info, "hw_info");
    auto info = std::make_unique<Info>();
    set_entry(*info, kSharedMemory, "true");
    *hw_info = runtime().infos.add(std::move(info))->handle;
  });
}

}  // namespace rmq::mpi
