// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/wait.hpp"

#include <sched.h>

#include <array>
#include <cstdio>

#include "shmem/call.hpp"
#include "shmem/context.hpp"

namespace rmq::shmem {
namespace {

// Allocates nothing: it may be told in a signal handler.
void tell(const void* object, ReportText& to) {
  static constexpr const char* kCompare[] = {"its turn", "==", "!=", ">", "<=", "<", ">="};
  const auto& w = *static_cast<const WaitsFor*>(object);
  std::array<char, 128> text{};
  if (w.cmp == 0)
    std::snprintf(text.data(), text.size(), "the lock at %p", w.address);
  else if (w.count == 1)
    std::snprintf(text.data(), text.size(), "its memory at %p to be %s %lld", w.address, kCompare[w.cmp],
                  static_cast<long long>(w.value));
  else
    std::snprintf(text.data(), text.size(), "its memory, %zu words at %p, to be %s %lld", w.count, w.address,
                  kCompare[w.cmp], static_cast<long long>(w.value));
  to.begin_object();
  to.field("kind", "memory");
  to.field("text", text.data());
  to.end_object();
}

}  // namespace

// While this PE does not poll, nobody serves what others send it, but the agent after a while.
int detail::looks_before_poll() {
  const World& w = world();
  return w.crowded ? 1 : w.all_near ? 2000 : 50;
}

void detail::await_long(const mpi::Function& f, const WaitsFor& waits, bool (*done)(void*), void* what) {
  enter(f, [&] {
    World& w = world();
    wait_for_stores(*mpi::runtime().device, *w.near[w.me].control, w.asymmetric, {tell, &waits},
                    [&] { return done(what); });
  });
}

// A program may test again and again.
void detail::test_failed(const mpi::Function& f) {
  constexpr std::uint32_t kTestsPerPoll = 16;
  if (!world().looks.is_nth(kTestsPerPoll)) return;
  if (world().crowded) ::sched_yield();
  enter(f, [&] { mpi::runtime().device->MPID_Poll(false); });
}

}  // namespace rmq::shmem
