#include "tools/launch/children.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/process/reap.hpp"

namespace rmq::launch {

void Children::reap() {
  std::vector<std::pair<pid_t, int>> ended;  // process, status
  reap_children([&](pid_t pid, int status) { ended.emplace_back(pid, status); });
  std::stable_partition(ended.begin(), ended.end(), [](const auto& end) { return WIFSIGNALED(end.second); });
  for (const auto& [pid, status] : ended) {
    // One that is told may make others forgotten.
    if (auto told = waiting_.extract(pid); !told.empty()) told.mapped().ended(status);
  }
}

}  // namespace rmq::launch
