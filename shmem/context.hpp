// SPDX-License-Identifier: BSD-3-Clause
// Contexts: what is issued on one is completed by its own quiet, whatever others have under way. Only operations by
// packets are under way at all: what is done by loads and stores is complete when its call returns.
//
// A context remembers, for each PE that it has sent operations to, the number of the latest in the stream to that PE
// (rma::Completion). So contexts need no streams of their own, and any number of them costs nothing.
#pragma once

#include <span>

#include "shmem/atomics.hpp"
#include "shmem/objects.hpp"
#include "shmem/world.hpp"

namespace rmq::shmem {

/// The context of a handle; ends the job when it is none.
Context& context_of(const char* function, shmem_ctx_t handle);
/// The PE of the world that a context's operation means by `pe`; ends the job when there is none.
int pe_of(const char* function, const Context& c, int pe);

/// An operation has been issued to that PE; the device held.
void note_issued(Context& c, int pe);
/// *Waits* until what was issued on the context, to `pes` alone when there are any, is complete: everywhere, or
/// (`local`) as far as this PE's memory is concerned. The device held.
void complete(Context& c, bool local, std::span<const int> pes = {});
/// The same for all contexts.
void quiet_all();

/// What shmem_barrier_all and the functions of the heap do before they meet: quiets the default context. The device
/// held.
void settle();

/// shmem_ctx_quiet.
void quiet(Context& c);

}  // namespace rmq::shmem
