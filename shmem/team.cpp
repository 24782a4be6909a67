// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/coll/coll.hpp"
#include "shmem/call.hpp"
#include "shmem/context.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

// Tags of agreements of active sets: apart from those of all PEs, and of MPI_Comm_create_group, which are on other
// communicators.
constexpr int kSetTags = 1 << 29;

std::map<std::tuple<int, int, int>, std::unique_ptr<Team>>& active_sets() {
  static auto* const all = new std::map<std::tuple<int, int, int>, std::unique_ptr<Team>>;
  return *all;
}

/// Makes the team of these PEs of `parent`, all of whose members call. Null for those that are not in it.
/// What a config says of what its mask names is told again by shmem_team_get_config, and changes nothing.
Team* make_team(Team& parent, const std::vector<Rank>& pes, const shmem_team_config_t* config, long mask,
                const char* name) {
  mpi::Comm* const comm = mpi::create_comm(*parent.comm, Ranks(pes));
  if (!comm) return nullptr;
  comm->name = name;
  auto team = std::make_unique<Team>();
  team->comm = comm;
  if (config && (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) team->config.num_contexts = config->num_contexts;
  return world().teams.emplace_back(std::move(team)).get();
}

/// The PEs of the world that a triple of `parent` means; none when it is no triple of it.
std::vector<Rank> pes_of(const Team& parent, int start, int stride, int size) {
  std::vector<Rank> pes;
  const auto last = start + std::int64_t{stride} * (size - 1);
  if (size < 1 || start < 0 || start >= parent.size() || last < 0 || last >= parent.size() || (stride == 0 && size > 1))
    return pes;
  for (int i = 0; i < size; ++i) pes.push_back(parent.world_pe(start + i * stride));
  return pes;
}

shmem_team_t handle_or_invalid(const Team* team) {
  return team ? handle_of(*team) : SHMEM_TEAM_INVALID;
}

}  // namespace

Team& team_of(const char* function, shmem_team_t handle) {
  World& w = world();
  if (w.size == 0) refuse(function);
  if (handle == SHMEM_TEAM_WORLD) return *w.all;
  if (handle == SHMEM_TEAM_SHARED) return *w.shared;
  if (handle == SHMEM_TEAM_INVALID) die(function, "the team is SHMEM_TEAM_INVALID");
  return *reinterpret_cast<Team*>(handle);
}

shmem_team_t handle_of(const Team& team) {
  const World& w = world();
  if (&team == w.all) return SHMEM_TEAM_WORLD;
  if (&team == w.shared) return SHMEM_TEAM_SHARED;
  return reinterpret_cast<shmem_team_t>(const_cast<Team*>(&team));
}

void make_first_teams() {
  World& w = world();
  auto all = std::make_unique<Team>();
  all->comm = w.comm;
  w.all = w.teams.emplace_back(std::move(all)).get();
  // Those whose memory this PE reaches by loads and stores.
  std::vector<Rank> mine;
  for (int pe = 0; pe < static_cast<int>(w.size); ++pe)
    if (w.near[pe].base[0]) mine.push_back(pe);
  w.shared = make_team(*w.all, mine, nullptr, 0, "SHMEM_TEAM_SHARED");
}

void end_teams() {
  for (auto& [set, team] : active_sets()) mpi::drop_handle(team->comm);
  active_sets().clear();
  for (auto& team : world().teams) mpi::drop_handle(team->comm);
  world().teams.clear();
  world().all = world().shared = nullptr;
  world().comm = nullptr;
}

Team& active_set(int start, int log_stride, int size) {
  World& w = world();
  if (start == 0 && log_stride == 0 && size == static_cast<int>(w.size)) return *w.all;
  auto& slot = active_sets()[{start, log_stride, size}];
  if (slot) return *slot;
  const char* const call = mpi::runtime().device->call_name();
  const std::vector<Rank> pes =
      log_stride < 0 || log_stride > 30 ? std::vector<Rank>{} : pes_of(*w.all, start, 1 << log_stride, size);
  const auto me = std::find(pes.begin(), pes.end(), w.me);
  if (me == pes.end()) {
    die(call, fmt::format("this PE is not in the active set (PE_start {}, logPE_stride {}, PE_size {})", start,
                          log_stride, size));
  }
  // Members alone agree: their tag is made of the set, which all of them know.
  const auto word = [](int n) { return static_cast<std::uint32_t>(n); };
  const std::uint32_t hash = (word(start) * 31 + word(log_stride)) * 8191 + word(size);
  const int tag = kSetTags | static_cast<int>(hash % kSetTags);
  mpi::Party party{*w.comm, pes, static_cast<int>(me - pes.begin()), tag};
  const auto contexts = mpi::agree_on_contexts(party, 1);
  mpi::NewComm made{contexts[0], mpi::new_group(Ranks(pes))};
  made.traits = contexts.traits;
  slot = std::make_unique<Team>();
  slot->comm = mpi::new_comm(*w.comm, made);
  slot->comm->name = fmt::format("active set ({}, {}, {})", start, log_stride, size);
  return *slot;
}

RMQ_SHMEM(int, team_my_pe, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of("shmem_team_my_pe", team).me();
}

RMQ_SHMEM(int, team_n_pes, (shmem_team_t team)) {
  return team == SHMEM_TEAM_INVALID ? -1 : team_of("shmem_team_n_pes", team).size();
}

RMQ_SHMEM(int, team_get_config, (shmem_team_t team, long mask, shmem_team_config_t* config)) {
  if (team == SHMEM_TEAM_INVALID || (mask & ~SHMEM_TEAM_NUM_CONTEXTS) != 0) return 1;
  if (mask != 0) *config = team_of("shmem_team_get_config", team).config;
  return 0;
}

RMQ_SHMEM(int, team_translate_pe, (shmem_team_t team, int pe, shmem_team_t other)) {
  if (team == SHMEM_TEAM_INVALID || other == SHMEM_TEAM_INVALID) return -1;
  const Team& from = team_of("shmem_team_translate_pe", team);
  if (pe < 0 || pe >= from.size()) return -1;
  const int place = team_of("shmem_team_translate_pe", other).comm->group->place_of(from.world_pe(pe));
  return place < 0 ? -1 : place;
}

RMQ_SHMEM(int, team_split_strided,
          (shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t* config, long mask,
           shmem_team_t* team)) {
  *team = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID) return 1;
  return enter(fn::team_split_strided, [&] {
    Team& p = team_of(fn::team_split_strided, parent);
    const std::vector<Rank> pes = pes_of(p, start, stride, size);
    if (pes.empty()) return 1;
    *team = handle_or_invalid(make_team(p, pes, config, mask, "a team"));
    return 0;
  });
}

RMQ_SHMEM(int, team_split_2d,
          (shmem_team_t parent, int xrange, const shmem_team_config_t* xconfig, long xmask, shmem_team_t* xteam,
           const shmem_team_config_t* yconfig, long ymask, shmem_team_t* yteam)) {
  *xteam = *yteam = SHMEM_TEAM_INVALID;
  if (parent == SHMEM_TEAM_INVALID || xrange < 1) return 1;
  return enter(fn::team_split_2d, [&] {
    Team& p = team_of(fn::team_split_2d, parent);
    const int x = std::min(xrange, p.size()), row = p.me() / x * x, column = p.me() % x;
    const std::vector<Rank> xs = pes_of(p, row, 1, std::min(x, p.size() - row));
    const std::vector<Rank> ys = pes_of(p, column, x, (p.size() - column + x - 1) / x);
    *xteam = handle_or_invalid(make_team(p, xs, xconfig, xmask, "a team along x"));
    *yteam = handle_or_invalid(make_team(p, ys, yconfig, ymask, "a team along y"));
    return 0;
  });
}

RMQ_SHMEM(void, team_destroy, (shmem_team_t team)) {
  if (team == SHMEM_TEAM_INVALID) return;
  if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
    die(fn::team_destroy, "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED are not to be destroyed");
  enter(fn::team_destroy, [&] {
    World& w = world();
    Team& t = team_of(fn::team_destroy, team);
    // Contexts of the team go with it.
    for (std::size_t i = 0; i < w.contexts.size(); ++i)  // other threads may make some meanwhile
      if (w.contexts[i]->team == &t) complete(*w.contexts[i], false);
    std::erase_if(w.contexts, [&](const auto& c) { return c->team == &t; });
    // Its context may be given to another when all are here.
    mpi::coll::barrier(*t.comm);
    mpi::drop_handle(t.comm);
    std::erase_if(w.teams, [&](const auto& one) { return one.get() == &t; });
  });
}

}  // namespace rmq::shmem
