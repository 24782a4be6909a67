// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.4.2: communicators by splitting: by colours, by hosts and their parts, by process sets, by folders.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "engine/comm/comms.hpp"
#include "engine/comm/shared_folder.hpp"
#include "engine/comm/together.hpp"
#include "mpi/define.hpp"
#include "mpi/env/hardware.hpp"
#include "mpi/env/process_sets.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

// ---- by what members wish for ----

/// What one process asks of a split: those who ask for the same come together, by the keys, then by the ranks.
struct Wish {
  int color;  // MPI_UNDEFINED: nothing, it will be in no communicator
  int key;
  Words more = {};  // has to be the same as well; as many words as all others bring
};

/// As it travels: a word of colour and key, then the others.
std::uint64_t head_of(const Wish& w) {
  return (std::uint64_t{static_cast<std::uint32_t>(w.color)} << 32) | static_cast<std::uint32_t>(w.key);
}
int color_of(std::uint64_t head) {
  return static_cast<int>(head >> 32);
}
int key_of(std::uint64_t head) {
  return static_cast<int>(static_cast<std::uint32_t>(head));
}

/// What all members of both groups bring, as many words each.
struct Told {
  Words ours, theirs;
};
Told tell_all(Comm& c, const Words& mine) {
  Told told{gather_all(whole_party(c), mine), {}};
  if (c.is_inter()) told.theirs = exchange_with_remote(c, told.ours);
  return told;
}
Told tell_all(Comm& c, const Wish& wish) {
  Words mine{head_of(wish)};
  mine.insert(mine.end(), wish.more.begin(), wish.more.end());
  return tell_all(c, mine);
}

/// World ranks of those who wish for the same.
std::vector<Rank> members(const Group& group, const Words& wishes, const Wish& mine) {
  const auto stride = static_cast<std::ptrdiff_t>(1 + mine.more.size());
  std::vector<std::pair<int, Rank>> chosen;
  for (int i = 0; i < group.size(); ++i) {
    const auto at = wishes.begin() + stride * i;
    if (color_of(*at) != mine.color || !std::equal(mine.more.begin(), mine.more.end(), at + 1)) continue;
    chosen.emplace_back(key_of(*at), group.world[i]);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Rank> world;
  world.reserve(chosen.size());
  for (const auto& [key, rank] : chosen) world.push_back(rank);
  return world;
}

/// `told`: the wishes of all.
Comm* split(Comm& c, const Wish& mine, const Told& told) {
  if (mine.color == MPI_UNDEFINED) return create_comm(c, {});
  std::vector<Rank> remote;
  if (c.is_inter()) remote = members(*c.remote, told.theirs, mine);
  return create_comm(c, members(*c.group, told.ours, mine), std::move(remote));
}

// ---- by what members have in common: MPI_Comm_split_type ----

constexpr const char *kResourceKey = "mpi_hw_resource_type", *kSetKey = "mpi_pset_name",
                     *kFolderKey = "nbhd_common_dirname";
constexpr std::string_view kSharedMemory = "mpi_shared_memory";

/// The colour says what, three more words which: a name (64 bits of FNV-1a), and two numbers.
enum By : int {
  kHost,
  kResource,
  kSet,
  kFolder,
  kUnguided  // to be settled among all: becomes one of the first two, or none
};
Wish wish(By by, int key, std::uint64_t name = 0, std::uint64_t a = 0, std::uint64_t b = 0) {
  return {by, key, {name, a, b}};
}
Wish no_wish(int key) {
  return {MPI_UNDEFINED, key, {0, 0, 0}};
}
constexpr std::size_t kWishWords = 4;

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// Of a member; the same word at all members.
std::uint64_t host_of(const Comm& c, Rank r) {
  const adi::Device& d = *c.device;
  return d.host_of(r, d.any_foreign(c.group->world) || (c.remote && d.any_foreign(c.remote->world)));
}
std::uint64_t own_host(const Comm& c) {
  return host_of(c, c.device->rank());
}

std::optional<std::string> hint(const Info* hints, const char* key) {
  if (!hints) return std::nullopt;
  for (const auto& [name, value] : hints->entries) {
    if (name == key) return value;
  }
  return std::nullopt;
}
void set_entry(Info& info, const char* key, std::string value) {
  std::erase_if(info.entries, [&](const auto& e) { return e.first == key; });
  info.entries.emplace_back(key, std::move(value));
}

/// By the one instance of a kind of resource that each process is bound to.
Wish wish_for(const Comm& c, std::string_view resource, int key) {
  const std::uint64_t host = own_host(c);
  if (resource == kSharedMemory) return wish(kHost, key, 0, host);
  const auto found = find_resource(resource);
  if (!found || !found->instance) return no_wish(key);
  return wish(kResource, key, hash_of(found->name), host, *found->instance);
}

/// By a set, which has its first member for a name beside its own: some names are of another set in each process.
Wish wish_for_set(const std::string& name, int key) {
  const adi::Device& device = *runtime().device;
  const auto set = find_process_set(name);
  if (!set || set->place_of(device.rank()) < 0) return no_wish(key);
  const Process first = device.process_of((*set)[0]);
  return wish(kSet, key, hash_of(name), first.job, first.rank);
}

/// Guided by hints: of MPI-4.0 a resource, of MPI-4.1 a process set as well, of MPICH a folder.
Wish wish_of(const Comm& c, int type, int key, const Info* hints) {
  switch (type) {
    case MPI_UNDEFINED:
      return no_wish(key);
    case MPI_COMM_TYPE_SHARED:
      return wish_for(c, kSharedMemory, key);
    case MPI_COMM_TYPE_HW_UNGUIDED:
      return wish(kUnguided, key);
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (const auto resource = hint(hints, kResourceKey)) return wish_for(c, *resource, key);
      if (type == MPI_COMM_TYPE_HW_GUIDED) return no_wish(key);
      if (const auto set = hint(hints, kSetKey)) return wish_for_set(*set, key);
      [[fallthrough]];  // MPICH 4.0's number of the next
    case MPIX_COMM_TYPE_NEIGHBORHOOD:
      if (const auto folder = hint(hints, kFolderKey)) return wish(kFolder, key, hash_of(*folder));
      return no_wish(key);
    default:
      fail_call(MPI_ERR_ARG, fmt::format("invalid split_type {} (argument split_type)", type));
  }
}

std::pair<std::uint64_t, std::uint32_t> name_of(const Comm& c, Rank r) {
  const Process who = c.device->process_of(r);
  return {who.job, who.rank};
}

/// World ranks of those who wish for `by`, and whether they bring the same words.
struct Wishing {
  std::vector<Rank> ranks;
  bool alike = true;
};
Wishing who_wishes(const Comm& c, const Told& told, By by) {
  Wishing who;
  const std::uint64_t* first = nullptr;
  const auto look = [&](const Group& group, const Words& words) {
    for (int i = 0; i < group.size(); ++i) {
      const std::uint64_t* const at = words.data() + kWishWords * static_cast<std::size_t>(i);
      if (color_of(*at) != by) continue;
      if (!first) first = at;
      who.alike = who.alike && std::equal(at + 1, at + kWishWords, first + 1);
      who.ranks.push_back(group.world[i]);
    }
  };
  look(*c.group, told.ours);
  if (c.is_inter()) look(*c.remote, told.theirs);
  // The same at all of them, who may have other numbers for each other.
  std::sort(who.ranks.begin(), who.ranks.end(), [&](Rank a, Rank b) { return name_of(c, a) < name_of(c, b); });
  return who;
}

/// Those who wish for a folder come together where they see the same one: the first rank of each host leaves a mark
/// there. Where they do not mean the same, the hint says nothing. All call, those who wish for something else as well.
Wish settle_folder(Comm& c, Wish mine, const Wishing& who, const Info* hints) {
  const Rank me = runtime().device->rank();
  const bool in = mine.color == kFolder;
  const std::string folder = in ? hint(hints, kFolderKey).value() : std::string();
  std::vector<Rank> first;  // of each host
  for (const Rank r : who.ranks) {
    if (std::none_of(first.begin(), first.end(), [&](Rank f) { return host_of(c, f) == host_of(c, r); }))
      first.push_back(r);
  }
  const bool marks = in && who.alike && std::find(first.begin(), first.end(), me) != first.end();
  std::optional<FolderMark> mark;
  if (marks) mark.emplace(folder, c.context, c.device->process_of(me));
  tell_all(c, Words{0});  // all marks are there
  const auto seen = [&](Rank r) {
    // A folder that nobody may write is the same on one host all the same.
    return FolderMark::is_seen(folder, c.context, c.device->process_of(r)) ||
           (host_of(c, r) == own_host(c) && ::access(folder.c_str(), F_OK) == 0);
  };
  const auto found = in && who.alike ? std::find_if(first.begin(), first.end(), seen) : first.end();
  tell_all(c, Words{0});  // all have looked
  if (!in) return mine;
  if (found == first.end()) return no_wish(mine.key);
  const auto [job, rank] = name_of(c, *found);
  return wish(kFolder, mine.key, mine.more[0], job, rank);
}

/// Unguided: by the largest resource that divides those who wish for it: hosts, else a part of their one host of which
/// they have different instances. `name` becomes the resource's. All call.
Wish settle_unguided(Comm& c, Wish mine, const Wishing& who, std::string& name) {
  const bool one_host = std::all_of(who.ranks.begin(), who.ranks.end(),
                                    [&](Rank r) { return host_of(c, r) == host_of(c, who.ranks[0]); });
  name = kSharedMemory;
  if (!one_host) return mine.color == kUnguided ? wish_for(c, name, mine.key) : mine;
  constexpr std::size_t kMost = 16;  // kinds
  const bool in = mine.color == kUnguided;
  const std::vector<Resource> all = in ? resources() : std::vector<Resource>();
  Words instances(1 + kMost, 0);  // whether it wishes; of each kind 0 for no one instance, else its number and 1
  instances[0] = in;
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    if (all[i].instance) instances[1 + i] = 1 + *all[i].instance;
  }
  Told told = tell_all(c, instances);
  told.ours.insert(told.ours.end(), told.theirs.begin(), told.theirs.end());
  if (!in) return mine;
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    bool divides = false;
    for (std::size_t at = 0; at < told.ours.size(); at += 1 + kMost) {
      divides = divides || (told.ours[at] != 0 && told.ours[at + 1 + i] != instances[1 + i]);
    }
    if (!divides) continue;
    name = std::string(kHwlocScheme) + all[i].name;
    return wish_for(c, name, mine.key);
  }
  return no_wish(mine.key);
}

/// `name` becomes that of what it is split by, where that is unguided.
Comm* split_type_of(Comm& c, Wish mine, const Info* hints, std::string& name) {
  Told told = tell_all(c, mine);
  if (const Wishing who = who_wishes(c, told, kUnguided); !who.ranks.empty()) {
    mine = settle_unguided(c, mine, who, name);
    told = tell_all(c, mine);
  }
  if (const Wishing who = who_wishes(c, told, kFolder); !who.ranks.empty()) {
    mine = settle_folder(c, mine, who, hints);
    told = tell_all(c, mine);
  }
  return split(c, mine, told);
}

}  // namespace

RMQ_MPI(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    if (color < 0 && color != MPI_UNDEFINED) {
      fail_call(MPI_ERR_ARG,
                fmt::format("invalid color {} (argument color; allowed 0 and up and MPI_UNDEFINED)", color));
    }
    note_collective(c);
    const Wish mine{color, key};
    *newcomm = handle_or_null(ft::make_together(c, [&](Comm& own) { return split(own, mine, tell_all(own, mine)); }));
  });
}

RMQ_MPI(int, Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    out(newcomm, "newcomm");
    Info* const hints = optional_info_arg(info);
    const Wish mine = wish_of(c, split_type, key, hints);
    note_collective(c);
    std::string name;
    *newcomm = handle_or_null(ft::make_together(c, [&](Comm& own) { return split_type_of(own, mine, hints, name); }));
    if (mine.color == kUnguided && hints && *newcomm != MPI_COMM_NULL) set_entry(*hints, kResourceKey, name);
  });
}

// MPI-4.1: the resources that MPI_Comm_split_type knows here, and whether this process is bound to one of each.
RMQ_MPI(int, Get_hw_resource_info, (MPI_Info * hw_info)) {
  return enter_any_time([&] {
    out(hw_info, "hw_info");
    auto info = std::make_unique<Info>();
    info->entries.emplace_back(kSharedMemory, "true");
    for (const Resource& r : resources()) {
      info->entries.emplace_back(std::string(kHwlocScheme) + r.name, r.instance ? "true" : "false");
    }
    *hw_info = runtime().infos.add(std::move(info))->handle;
  });
}

}  // namespace rmq::mpi
