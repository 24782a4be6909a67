// SPDX-License-Identifier: BSD-3-Clause
// Epochs of windows that do not fit together: post, start, complete, wait, and fences.
#include <fmt/format.h>

#include <algorithm>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

std::string group_text(bool open, const std::vector<int>& group, const char* kind) {
  return open ? fmt::format("its {} group is {}", kind, ranks_text(group)) : fmt::format("it has no {} epoch", kind);
}

}  // namespace

void find_bad_epochs(const Job& job, std::vector<Finding>& to) {
  for (const Rank& r : job.ranks) {
    if (r.fate != Fate::waiting) continue;
    for (const Wait& w : r.waits) {
      if (w.kind != "post" && w.kind != "complete" && w.kind != "fence") continue;
      const int peer = w.peers.empty() ? -1 : w.peers.front();
      if (peer < 0 || peer >= static_cast<int>(job.ranks.size())) continue;
      const Rank& p = job.ranks[static_cast<std::size_t>(peer)];
      if (is_alive(p)) continue;
      const Window* window = p.window(w.window);
      if (w.kind == "fence") {
        if (window && window->fences >= w.number) continue;  // it waits in the same fence
        to.push_back({"missing fence", fmt::format("Rank {} waits in MPI_Win_fence on window {} for rank {}, which has "
                                                   "not come to it: it {}.",
                                                   r.rank, w.window, peer, doing_text(p))});
        continue;
      }
      if (w.kind == "post" && !(window && window->exposed && has(window->exposure, r.rank))) {
        to.push_back(
            {"PSCW mismatch",
             fmt::format(
                 "Rank {} waits in {} for rank {} to post window {} to it (MPI_Win_post), which rank {} has not "
                 "done: {}; it {}.",
                 r.rank, r.call, peer, w.window, peer,
                 group_text(window && window->exposed, window ? window->exposure : std::vector<int>{}, "exposure"),
                 doing_text(p))});
      } else if (w.kind == "complete") {
        const bool accesses = window && window->accessing && has(window->access, r.rank);
        to.push_back(
            {"PSCW mismatch",
             fmt::format("Rank {} waits in {} for rank {} to complete its access to window {} (MPI_Win_complete), but "
                         "rank {} {}; it {}.",
                         r.rank, r.call, peer, w.window, peer,
                         accesses ? "has not called it"
                                  : fmt::format("has not started one: {}",
                                                group_text(window && window->accessing,
                                                           window ? window->access : std::vector<int>{}, "access")),
                         doing_text(p))});
      }
    }
  }
}

}  // namespace rmq::diag
