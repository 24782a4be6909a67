// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/children.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "tools/process/reap.hpp"

namespace rmq::launch {

void Children::reap() {
  reap_children([&](pid_t pid, int status) {
    auto waits = waiting_.extract(pid);
    if (waits.empty()) return;
    // Behind the others that a signal has killed, or at the end.
    const auto at = std::ranges::find_if(
        reaped_, [&](const Reaped& one) { return WIFSIGNALED(status) && !WIFSIGNALED(one.status); });
    reaped_.insert(at, {pid, status, std::move(waits.mapped().ended)});
  });
  while (!reaped_.empty()) {
    const Reaped one = std::move(reaped_.front());  // which may make others forgotten
    reaped_.pop_front();
    one.ended(one.status);
  }
}

}  // namespace rmq::launch
