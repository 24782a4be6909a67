// SPDX-License-Identifier: BSD-3-Clause
// Messages that do not come because the program has made their request and not started it, or not all of it.
#include <fmt/format.h>

#include <algorithm>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

// Whether `request` of another rank, once started, would be the other side of what `r` waits for.
bool fits(const Rank& r, const Wait& w, const Wait& request) {
  const std::string& other = request.kind;
  const bool kind = w.kind == "recv" || w.kind == "probe" ? other == "send"
                    : w.kind == "partitions"              ? other == "ready"
                    : w.kind == "send"                    ? other == "recv" || other == "partitions"
                                                          : false;
  const int tag = w.message.tag, others_tag = request.message.tag;
  const int peer = request.message.peer;
  return kind && !w.message.matched && w.message.context == request.message.context &&
         (tag == others_tag || tag < 0 || others_tag < 0) && (peer == r.rank || peer < 0);
}

// Such as a partitioned send whose partitions are not ready: find_lost_waits() tells.
bool waits_for_itself(const Rank& r) {
  return std::any_of(r.waits.begin(), r.waits.end(), [](const Wait& w) { return w.kind == "ready"; });
}

std::string text_of(const Dormant& d) {
  const Wait& w = d.request;
  if (d.started)
    return fmt::format("has not declared {} partition{} of its send to it with tag {} ready (MPI_Pready)", w.number,
                       w.number == 1 ? "" : "s", w.message.tag);
  return fmt::format("has a {} {} it{} that is not started (MPI_Start)",
                     w.kind == "send" || w.kind == "recv" ? "persistent" : "partitioned",
                     w.sends() ? "send to" : "receive from",
                     w.message.tag < 0 ? "" : fmt::format(" with tag {}", w.message.tag));
}

}  // namespace

void find_dormant_requests(const Job& job, std::vector<Finding>& to) {
  const auto size = static_cast<int>(job.ranks.size());
  const auto find_for = [&](const Rank& r) {
    for (const Wait& w : r.waits)
      for (const int peer : w.peers) {
        if (peer < 0 || peer >= size) continue;
        const Rank& other = job.ranks[static_cast<std::size_t>(peer)];
        if (!is_stuck(other)) continue;
        for (const Dormant& d : other.dormant) {
          if (!fits(r, w, d.request) || (d.started && waits_for_itself(other))) continue;
          to.push_back({d.started ? "partition not ready" : "request not started",
                        fmt::format("Rank {} {}; rank {} {}.", r.rank, doing_text(r), peer, text_of(d))});
          return;
        }
      }
  };
  for (const Rank& r : job.ranks)
    if (is_stuck(r)) find_for(r);
}

}  // namespace rmq::diag
