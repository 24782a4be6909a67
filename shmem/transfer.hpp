// SPDX-License-Identifier: BSD-3-Clause
// Put, get and atomic operations. A PE that is near is reached by a copy or a CPU atomic, in the caller's own frame;
// what is far goes by packets of rma/ (transfer.cpp), and is complete, or issued on the context, when the call returns.
#pragma once

#include <cstdint>

#include "base/data/copy.hpp"
#include "engine/call/function.hpp"
#include "rma/memory/store.hpp"
#include "shmem/atomics.hpp"
#include "shmem/context.hpp"
#include "shmem/world.hpp"

namespace rmq::shmem {

/// Until when a call by packets waits.
enum class Wait : std::uint8_t {
  no,     // it is issued: the context's quiet completes it
  local,  // the caller's memory is free, and results are here
};

// ---- by packets: transfer.cpp ----

void put_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes, int pe,
             Wait wait);
void get_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes, int pe,
             Wait wait);
/// `width`: 4 or 8 bytes; `before`: where the result goes, or null.
void amo_far(const mpi::Function& f, shmem_ctx_t ctx, Amo op, void* dest, const void* value, void* before,
             std::size_t width, int pe, Wait wait);
void compare_swap_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* cond, const void* value,
                      void* before, std::size_t width, int pe, Wait wait);
/// Pieces of `each` bytes, whose distances are `to` and `from` bytes; `put`: else a get.
void strided(const mpi::Function& f, shmem_ctx_t ctx, bool put, void* dest, const void* source, std::ptrdiff_t to,
             std::ptrdiff_t from, std::size_t each, std::size_t pieces, int pe);
void put_signal(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
                std::uint64_t* signal, std::uint64_t value, int op, int pe, Wait wait);
/// Lets messages move on, and others have the CPU.
void poll();

// ---- inline ----

/// A PE of the world; ends the job when there is none.
[[gnu::always_inline]] inline int place(const char* function, shmem_ctx_t ctx, int pe) {
  if (ctx != SHMEM_CTX_DEFAULT) return pe_of(function, context_of(function, ctx), pe);
  check_pe(function, pe);
  return pe;
}

/// After a look at others' memory.
[[gnu::always_inline]] inline void looked() {
  constexpr std::uint32_t kLooksPerPoll = 64;
  if (world().looks.is_nth(kLooksPerPoll)) [[unlikely]]
    poll();
}

[[gnu::always_inline]] inline void put(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source,
                                       std::size_t bytes, int pe, Wait wait = Wait::local) {
  pe = place(f, ctx, pe);
  if (std::byte* const to = near(dest, pe)) [[likely]] {
    rma::store_once(to, source, bytes);
    changed(pe);
  } else if (bytes > 0) {
    put_far(f, ctx, dest, source, bytes, pe, wait);
  }
}

[[gnu::always_inline]] inline void get(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source,
                                       std::size_t bytes, int pe, Wait wait = Wait::local) {
  pe = place(f, ctx, pe);
  if (const std::byte* const from = near(source, pe)) [[likely]] {
    copy_bytes(dest, from, bytes);
    looked();
  } else if (bytes > 0) {
    get_far(f, ctx, dest, source, bytes, pe, wait);
  }
}

/// Without a result.
template <Amo kOp, class T>
[[gnu::always_inline]] inline void amo(const mpi::Function& f, shmem_ctx_t ctx, T* dest, T value, int pe) {
  pe = place(f, ctx, pe);
  if (std::byte* const at = near(dest, pe)) [[likely]] {
    amo_near<kOp>(reinterpret_cast<T*>(at), value);
    changed(pe);
  } else {
    amo_far(f, ctx, kOp, dest, &value, nullptr, sizeof(T), pe, Wait::local);
  }
}

template <Amo kOp, class T>
[[gnu::always_inline]] inline void amo_to(const mpi::Function& f, shmem_ctx_t ctx, T* before, T* dest, T value, int pe,
                                          Wait wait) {
  pe = place(f, ctx, pe);
  if (std::byte* const at = near(dest, pe)) [[likely]] {
    *before = amo_near<kOp>(reinterpret_cast<T*>(at), value);
    if (kOp != Amo::fetch) changed(pe);
    looked();
  } else {
    amo_far(f, ctx, kOp, dest, &value, before, sizeof(T), pe, wait);
  }
}

template <Amo kOp, class T>
[[gnu::always_inline]] inline T fetch_amo(const mpi::Function& f, shmem_ctx_t ctx, T* dest, T value, int pe) {
  T before;
  amo_to<kOp>(f, ctx, &before, dest, value, pe, Wait::local);
  return before;
}

template <class T>
[[gnu::always_inline]] inline void compare_swap(const mpi::Function& f, shmem_ctx_t ctx, T* before, T* dest, T cond,
                                                T value, int pe, Wait wait) {
  pe = place(f, ctx, pe);
  if (std::byte* const at = near(dest, pe)) [[likely]] {
    *before = compare_swap_near(reinterpret_cast<T*>(at), cond, value);
    changed(pe);
    looked();
  } else {
    compare_swap_far(f, ctx, dest, &cond, &value, before, sizeof(T), pe, wait);
  }
}

}  // namespace rmq::shmem
