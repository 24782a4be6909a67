// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/fence.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace rmq::os {
namespace {

// From linux/membarrier.h; spelled here because the header of an older build machine may lack them.
constexpr int kGlobalExpedited = 1 << 1;
constexpr int kRegisterGlobalExpedited = 1 << 2;

#if defined(__SANITIZE_THREAD__)
constexpr bool kUsable = false;
#else
constexpr bool kUsable = true;
#endif

}  // namespace

bool register_asymmetric_fence() {
  if (!kUsable) return false;
  return ::syscall(SYS_membarrier, kRegisterGlobalExpedited, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, kGlobalExpedited, 0, 0) == 0;
}

void heavy_fence(bool asymmetric) {
  thread_fence(std::memory_order_seq_cst);
  if (asymmetric) ::syscall(SYS_membarrier, kGlobalExpedited, 0, 0);
}

}  // namespace rmq::os
