// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "shmem/call.hpp"
#include "shmem/team.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

constexpr long kOptions = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;

Context* find(shmem_ctx_t handle) {
  auto& all = world().contexts;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& c) { return c.get() == reinterpret_cast<Context*>(handle); });
  return found == all.end() ? nullptr : found->get();
}

int create(Team* team, long options, shmem_ctx_t* ctx) {
  if (!ctx) return 1;
  *ctx = SHMEM_CTX_INVALID;
  if ((options & ~kOptions) != 0) return 1;
  return enter(fn::ctx_create, [&] {
    auto made = std::make_unique<Context>();
    made->options = options;
    made->team = team;
    *ctx = reinterpret_cast<shmem_ctx_t>(world().contexts.emplace_back(std::move(made)).get());
    return 0;
  });
}

}  // namespace

Context& context_of(const char* function, shmem_ctx_t handle) {
  if (handle == SHMEM_CTX_DEFAULT) [[likely]] {
    if (world().size == 0) refuse(function);
    return *world().context;
  }
  if (handle == SHMEM_CTX_INVALID) die(function, "the context is SHMEM_CTX_INVALID");
  return *reinterpret_cast<Context*>(handle);
}

int pe_of(const char* function, const Context& c, int pe) {
  if (!c.team) {
    check_pe(function, pe);
    return pe;
  }
  if (pe < 0 || pe >= c.team->size())
    die(function,
        fmt::format("there is no PE {} in the team of the context (there are 0..{})", pe, c.team->size() - 1));
  return c.team->world_pe(pe);
}

void note_issued(Context& c, int pe) {
  c.under_way[pe] = world().window->completion(pe, rma::Until::remote).number;
  c.busy.store(true, std::memory_order_relaxed);
}

// Other threads come in while this one waits: they may issue more, wait for the same, or destroy the context.
void complete(Context& c, bool local, std::span<const int> pes) {
  if (c.under_way.empty()) return;
  std::vector<std::pair<int, std::uint64_t>> awaited;
  if (pes.empty()) awaited.assign(c.under_way.begin(), c.under_way.end());
  for (const int pe : pes)
    if (const auto one = c.under_way.find(pe); one != c.under_way.end()) awaited.push_back(*one);
  std::vector<rma::Completion> all;
  for (const auto& [pe, number] : awaited) {
    rma::Completion one = world().window->completion(pe, local ? rma::Until::local : rma::Until::remote);
    one.number = number;
    all.push_back(one);
  }
  if (const rma::Fault f = world().window->finish(all); f != rma::Fault::none) {
    die(mpi::runtime().device->call_name(),
        f == rma::Fault::peer_lost ? world().window->lost() : std::string(rma::fault_text(f)));
  }
  if (local || (&c != world().context.get() && !find(reinterpret_cast<shmem_ctx_t>(&c)))) return;
  for (const auto& [pe, number] : awaited) {
    const auto one = c.under_way.find(pe);
    if (one != c.under_way.end() && one->second == number) c.under_way.erase(one);
  }
  if (c.under_way.empty())
    c.busy.store(false, std::memory_order_release);  // to quiet and fence, which may not look further
}

void quiet_all() {
  World& w = world();
  order_all();
  complete(*w.context, false);
  for (std::size_t i = 0; i < w.contexts.size(); ++i) complete(*w.contexts[i], false);
}

void settle() {
  order_all();
  complete(*world().context, false);
}

// A thread that has issued something sees its own store, or a later one, of who found it complete: acquire, for what
// has been sent and received until then.
void quiet(Context& c) {
  order_all();
  if (c.busy.load(std::memory_order_acquire)) [[unlikely]]
    enter(fn::quiet, [&] { complete(c, false); });
}

// Stores stay in order, and packets to one PE are executed in order. What is not: a store and a packet, to a PE of
// which only part of the memory is mapped.
void fence(Context& c) {
  order_all();
  if (world().all_near || !c.busy.load(std::memory_order_acquire)) return;
  enter(fn::fence, [&] {
    const bool mixed = std::any_of(c.under_way.begin(), c.under_way.end(),
                                   [](const auto& one) { return world().near[one.first].control != nullptr; });
    if (mixed) complete(c, false);
  });
}

// A quiet of some PEs. The world's numbers are made where they are needed: mostly nothing is under way.
void quiet_of(shmem_ctx_t ctx, const int* pes, std::size_t count) {
  if (ctx == SHMEM_CTX_INVALID || count == 0) return;
  Context& c = context_of(fn::pe_quiet, ctx);
  for (std::size_t i = 0; i < count; ++i) pe_of(fn::pe_quiet, c, pes[i]);
  order_all();
  if (!c.busy.load(std::memory_order_acquire)) return;  // as in quiet()
  enter(fn::pe_quiet, [&] {
    std::vector<int> world_pes;
    for (std::size_t i = 0; i < count; ++i) world_pes.push_back(pe_of(fn::pe_quiet, c, pes[i]));
    complete(c, false, world_pes);
  });
}

RMQ_SHMEM(int, ctx_create, (long options, shmem_ctx_t* ctx)) {
  return create(nullptr, options, ctx);
}

RMQ_SHMEM(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx)) {
  if (ctx) *ctx = SHMEM_CTX_INVALID;
  if (team == SHMEM_TEAM_INVALID) return 1;
  return create(&team_of(fn::ctx_create, team), options, ctx);
}

RMQ_SHMEM(void, ctx_destroy, (shmem_ctx_t ctx)) {
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) die(fn::ctx_destroy, "SHMEM_CTX_DEFAULT is not to be destroyed");
  order_all();
  enter(fn::ctx_destroy, [&] {
    if (Context* c = find(ctx)) complete(*c, false);
    auto& all = world().contexts;
    std::erase_if(all, [&](const auto& c) { return c.get() == reinterpret_cast<Context*>(ctx); });
  });
}

RMQ_SHMEM(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return 1;
  const Context& c = context_of("shmem_ctx_get_team", ctx);
  *team = c.team ? handle_of(*c.team) : SHMEM_TEAM_WORLD;
  return 0;
}

// Hints alone: what a batch would gather waits for company anyway (design/shmem.md).
RMQ_SHMEM(void, ctx_session_start, (shmem_ctx_t ctx, long, const shmem_ctx_session_config_t*, long)) {
  if (ctx != SHMEM_CTX_INVALID) context_of("shmem_ctx_session_start", ctx);
}
RMQ_SHMEM(void, ctx_session_stop, (shmem_ctx_t ctx)) {
  if (ctx != SHMEM_CTX_INVALID) context_of("shmem_ctx_session_stop", ctx);
}

RMQ_SHMEM(void, fence, (void)) {
  fence(context_of(fn::fence, SHMEM_CTX_DEFAULT));
}
RMQ_SHMEM(void, ctx_fence, (shmem_ctx_t ctx)) {
  if (ctx != SHMEM_CTX_INVALID) fence(context_of(fn::fence, ctx));
}
RMQ_SHMEM(void, quiet, (void)) {
  quiet(context_of(fn::quiet, SHMEM_CTX_DEFAULT));
}
RMQ_SHMEM(void, ctx_quiet, (shmem_ctx_t ctx)) {
  if (ctx != SHMEM_CTX_INVALID) quiet(context_of(fn::quiet, ctx));
}
RMQ_SHMEM_PAIR(void, pe_quiet, (const int* target_pes, size_t npes), quiet_of(ctx, target_pes, npes))

}  // namespace rmq::shmem
