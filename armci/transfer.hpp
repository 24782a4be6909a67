// SPDX-License-Identifier: BSD-3-Clause
// Put, get and accumulate: in one piece, strided, and of many pieces. Where the memory of the other process lies here,
// each piece is a copy, or added under the mutexes of the window's regions; else it goes through the window. Either way
// the operation is complete as far as this process's memory is concerned when the call returns, or issued on a handle.
#pragma once

#include <cstdint>
#include <span>

#include "armci/world.hpp"
#include "base/data/copy.hpp"
#include "engine/call/function.hpp"
#include "rma/memory/store.hpp"

namespace rmq::armci {

inline constexpr int kAggregate = 0x41676772;  // armci_hdl_t::aggregate, if it is so; a handle may be uninitialised

/// What a call does about what it has issued: waits, or leaves it to the handle, if there is one.
struct Finish {
  bool waits = true;
  armci_hdl_t* handle = nullptr;
};
inline Finish later(armci_hdl_t* handle) {
  return {false, handle};
}

/// What accumulates add: elements of one type, each multiplied by `scale`, if that is not null.
struct Scaled {
  MPI_Datatype type;
  Basic basic;
  std::uint64_t size;  // bytes of an element
  const void* scale;   // null: 1
};
/// Of the arguments of ARMCI_Acc.
Scaled scaled(const char* function, int type, const void* scale);

/// The shape of strided data: count[0] bytes, count[i] times at distances of stride[i - 1].
struct Shape {
  const int* stride;
  const int* count;
  int levels;
};

enum class Way : std::uint8_t { put, get };

// ---- by packets: transfer.cpp ----

void move_far(const mpi::Function& f, Way way, const Part& part, std::uint64_t offset, void* mine, std::uint64_t bytes,
              Finish finish);
void strided(const mpi::Function& f, Way way, void* mine, const Shape& here, void* theirs, const int* their_stride,
             int proc, Finish finish);
void vectors(const mpi::Function& f, Way way, std::span<const armci_giov_t> all, int proc, Finish finish);
void add(const mpi::Function& f, const Scaled& what, void* mine, const Shape& here, void* theirs,
         const int* their_stride, int proc, Finish finish);
void add_vectors(const mpi::Function& f, const Scaled& what, std::span<const armci_giov_t> all, int proc,
                 Finish finish);

/// *Waits* for the operation of a handle.
void end_handle(const mpi::Function& f, armci_hdl_t& h);
/// Nothing is under way on the handle that is begun here: what it named before is forgotten, or (aggregate) stays.
[[gnu::always_inline]] inline void begin_handle(const Finish& finish) {
  if (finish.handle && finish.handle->aggregate != kAggregate) finish.handle->memory = 0;
}

// ---- inline ----

namespace detail {
/// Lets messages move on.
void poll();
}  // namespace detail

/// After a look at others' memory, which a program may repeat until it has changed: the rest of the job must go on
/// meanwhile. The CPU is not offered: programs that wait so are few, and whoever works so would lose his turn.
[[gnu::always_inline]] inline void looked() {
  constexpr std::uint32_t kLooksPerPoll = 64;
  if (world().looks.is_nth(kLooksPerPoll)) [[unlikely]]
    detail::poll();
}

[[gnu::always_inline]] inline int put(const mpi::Function& f, const void* src, void* dst, std::uint64_t bytes, int proc,
                                      Finish finish = {}) {
  begin_handle(finish);
  std::uint64_t offset;
  const Part& to = find(f, dst, bytes, proc, offset);
  if (to.here) [[likely]]
    rma::store_once(to.here + offset, src, bytes);
  else
    move_far(f, Way::put, to, offset, const_cast<void*>(src), bytes, finish);
  return 0;
}

[[gnu::always_inline]] inline int get(const mpi::Function& f, const void* src, void* dst, std::uint64_t bytes, int proc,
                                      Finish finish = {}) {
  begin_handle(finish);
  std::uint64_t offset;
  const Part& from = find(f, src, bytes, proc, offset);
  if (from.here) [[likely]] {
    copy_bytes(dst, from.here + offset, bytes);
    looked();
  } else {
    move_far(f, Way::get, from, offset, dst, bytes, finish);
  }
  return 0;
}

/// fn(a, b) for each row of count[0] bytes of the two sides.
template <class Fn>
inline void for_each_row(std::byte* a, const int* a_stride, std::byte* b, const int* b_stride, const int* count,
                         int levels, Fn&& fn) {
  if (levels == 0) return fn(a, b);
  const std::int64_t a_step = a_stride[levels - 1], b_step = b_stride[levels - 1];
  for (int i = count[levels]; i > 0; --i, a += a_step, b += b_step) {
    if (levels == 1)
      fn(a, b);
    else
      for_each_row(a, a_stride, b, b_stride, count, levels - 1, fn);
  }
}

}  // namespace rmq::armci
