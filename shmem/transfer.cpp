// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/transfer.hpp"

#include <fmt/format.h>
#include <sched.h>

#include "engine/object/datatypes.hpp"
#include "shmem/call.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

rma::Target target(const char* function, int pe, const void* address, std::uint64_t bytes, MPI_Datatype type,
                   std::uint64_t count) {
  return {pe, static_cast<std::int64_t>(name_of(function, address, bytes)), mpi::find_datatype(type)->layout.get(),
          count};
}

// What is to be done when the call returns; `copied`: the caller's memory is free already, and there is no result.
void settle(const mpi::Function& f, Context& c, int pe, rma::Fault fault, Wait wait, bool copied = false) {
  rma::Window& window = *world().window;
  if (fault == rma::Fault::none) {
    note_issued(c, pe);
    if (wait != Wait::local || copied) return;
    rma::Completion one = window.completion(pe, rma::Until::local);
    fault = window.finish({&one, 1});
  }
  if (fault == rma::Fault::none) return;
  die(f, fault == rma::Fault::peer_lost ? window.lost()
                                        : fmt::format("PE {}: {}", pe, std::string(rma::fault_text(fault))));
}

ReduceOp reduction(Amo op) {
  switch (op) {
    case Amo::fetch:
      return ReduceOp::no_op;
    case Amo::add:
      return ReduceOp::sum;
    case Amo::band:
      return ReduceOp::band;
    case Amo::bor:
      return ReduceOp::bor;
    case Amo::bxor:
      return ReduceOp::bxor;
    case Amo::set:
    case Amo::swap:
      break;
  }
  return ReduceOp::replace;
}

MPI_Datatype word_type(std::size_t width) {
  return width == 4 ? MPI_UINT32_T : MPI_UINT64_T;
}

}  // namespace

void put_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes, int pe,
             Wait wait) {
  enter(f, [&] {
    const DataView data = DataView::contiguous(source, bytes);
    const rma::Target to = target(f, pe, dest, bytes, MPI_BYTE, bytes);
    rma::Window& window = *world().window;
    const bool gathered = bytes <= rma::kListedMost;
    const rma::Fault fault = gathered ? window.put_gathered(data, to) : window.put(data, to);
    settle(f, context_of(f, ctx), pe, fault, wait, gathered);
  });
}

void get_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes, int pe,
             Wait wait) {
  enter(f, [&] {
    const rma::Fault fault =
        world().window->get(DataView::contiguous(dest, bytes), target(f, pe, source, bytes, MPI_BYTE, bytes));
    settle(f, context_of(f, ctx), pe, fault, wait);
  });
}

void amo_far(const mpi::Function& f, shmem_ctx_t ctx, Amo op, void* dest, const void* value, void* before,
             std::size_t width, int pe, Wait wait) {
  enter(f, [&] {
    const rma::Target to = target(f, pe, dest, width, word_type(width), 1);
    rma::Window& window = *world().window;
    const rma::Fault fault = before ? window.fetch_and_op(value, before, to, reduction(op))
                                    : window.accumulate(DataView::contiguous(value, width), to, reduction(op));
    settle(f, context_of(f, ctx), pe, fault, wait, before == nullptr);
  });
}

void compare_swap_far(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* cond, const void* value,
                      void* before, std::size_t width, int pe, Wait wait) {
  enter(f, [&] {
    const rma::Fault fault =
        world().window->compare_and_swap(value, cond, before, target(f, pe, dest, width, word_type(width), 1));
    settle(f, context_of(f, ctx), pe, fault, wait);
  });
}

void strided(const mpi::Function& f, shmem_ctx_t ctx, bool put, void* dest, const void* source, std::ptrdiff_t to,
             std::ptrdiff_t from, std::size_t each, std::size_t pieces, int pe) {
  const int whom = place(f, ctx, pe);
  auto* d = static_cast<std::byte*>(dest);
  const auto* s = static_cast<const std::byte*>(source);
  if (each == 0) return;
  bool far = false;
  for (; pieces > 0; --pieces, d += to, s += from) {
    if (std::byte* const there = near(put ? d : s, whom)) {
      put ? rma::store_once(there, s, each) : copy_bytes(d, there, each);
    } else {
      far = true;
      put ? put_far(f, ctx, d, s, each, whom, Wait::no) : get_far(f, ctx, d, s, each, whom, Wait::no);
    }
  }
  const bool copied = put && each <= rma::kListedMost;
  if (far && !copied) enter(f, [&] { complete(context_of(f, ctx), true); });
  if (put && world().near[whom].control) changed(whom);
}

// The signal must not be seen before the data. Both by stores, or both by packets to one PE, are in order.
void put_signal(const mpi::Function& f, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
                std::uint64_t* signal, std::uint64_t value, int op, int pe, Wait wait) {
  if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD)
    die(f, "sig_op is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD");
  const int whom = place(f, ctx, pe);
  std::byte* const to = near(dest, whom);
  std::byte* const flag = near(signal, whom);
  const bool copied = to != nullptr || bytes <= rma::kListedMost;
  if (to) {
    copy_bytes(to, source, bytes);
  } else if (bytes > 0) {
    put_far(f, ctx, dest, source, bytes, whom, flag ? Wait::local : Wait::no);
    if (flag) enter(f, [&] { complete(context_of(f, ctx), false); });
  }
  const Amo how = op == SHMEM_SIGNAL_SET ? Amo::set : Amo::add;
  if (!flag) {
    amo_far(f, ctx, how, signal, &value, nullptr, sizeof value, whom, wait);
    if (wait == Wait::local && !copied) enter(f, [&] { complete(context_of(f, ctx), true); });
    return;
  }
  auto* const word = reinterpret_cast<std::uint64_t*>(flag);
  how == Amo::set ? amo_near<Amo::set>(word, value) : amo_near<Amo::add>(word, value);
  changed(whom);
}

void poll() {
  if (world().crowded) ::sched_yield();
  const adi::Device::Entry entry(*mpi::runtime().device, "OpenSHMEM");  // whoever looks: for what a lost PE ends
  mpi::runtime().device->MPID_Poll(false);
}

}  // namespace rmq::shmem
