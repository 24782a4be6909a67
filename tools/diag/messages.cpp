// SPDX-License-Identifier: BSD-3-Clause
// Receives that nobody will ever match, and why: messages that almost fit, or senders that have nothing to send.
#include <fmt/format.h>

#include <algorithm>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

const Rank* rank_of(const Job& job, int rank) {
  return rank >= 0 && rank < static_cast<int>(job.ranks.size()) ? &job.ranks[static_cast<std::size_t>(rank)] : nullptr;
}

// Whether any of those whose message would end the wait may still send it.
bool may_still_come(const Job& job, const Wait& w) {
  return std::any_of(w.peers.begin(), w.peers.end(), [&](int peer) {
    const Rank* r = rank_of(job, peer);
    if (!r) return !job.others_wait;
    return is_alive(*r) || r->fate == Fate::silent || r->fate == Fate::stopped;
  });
}

// In what a message differs from what is wanted; empty: in too much.
std::string difference(const Message& wanted, const Message& m) {
  const bool tag = wanted.tag < 0 || wanted.tag == m.tag;
  const bool context = wanted.context == m.context;
  const bool source = wanted.source < 0 || wanted.source == m.source;
  const bool sender = wanted.peer < 0 || wanted.peer == m.peer;
  if (context && source && !tag) return "wrong tag";
  if (!context && !is_collective(m) && (sender || source) && tag) return "wrong communicator";
  if (context && tag && !source) return "wrong source";
  return {};
}

void look_among(const Rank& r, const Wait& w, const std::vector<Message>& messages, const char* where,
                std::vector<Finding>& to) {
  for (const Message& m : messages) {
    const std::string what = difference(w.message, m);
    if (what.empty()) continue;
    Wait found{"recv", m, {m.peer}, false, 0, 0};
    to.push_back({what, fmt::format("Rank {} {}, which nobody sends; {} {} ({} bytes), which nobody receives.", r.rank,
                                    doing_text(r), where, wait_text(r, found), m.bytes)});
    return;
  }
}

// Senders whose messages wait for credit: what the receive wants may be among them, and nothing that is here tells.
bool is_held_up(const Job& job, const Rank& r, const Wait& w, std::vector<Finding>& to) {
  for (const int peer : w.peers) {
    const Rank* sender = rank_of(job, peer);
    if (!sender) continue;
    for (const HeldUp& held : sender->held_up) {
      if (held.to != r.rank || held.reason != "no credit") continue;
      to.push_back({"no credit",
                    fmt::format("Rank {} {}; rank {} has {} message{} for it that may not leave, for rank {} "
                                "keeps as many others, which it does not receive, as RMQ_UNEXPECTED_MAX and "
                                "RMQ_ENVELOPES_MAX allow. Receive them, or raise RMQ_ENVELOPES_MAX.",
                                r.rank, doing_text(r), peer, held.messages, held.messages == 1 ? "" : "s", r.rank)});
      return true;
    }
  }
  return false;
}

// Messages that have not left yet.
void look_among_pending(const Rank& r, const Wait& w, const Rank& sender, std::vector<Finding>& to) {
  std::vector<Message> pending;
  for (Message m : sender.sends) {
    if (m.peer != r.rank || m.step != "queued") continue;
    m.peer = sender.rank;
    pending.push_back(m);
  }
  // The one that is wanted may be among those that its report had no room for.
  const bool all = std::none_of(sender.held_up.begin(), sender.held_up.end(), [&](const HeldUp& held) {
    return held.to == r.rank && held.messages > pending.size();
  });
  if (all) look_among(r, w, pending, fmt::format("rank {} waits to send", sender.rank).c_str(), to);
}

bool is_receive(const Wait& w) {
  return (w.kind == "recv" || w.kind == "probe") && !w.message.matched && !is_collective(w.message);
}

}  // namespace

void find_near_misses(const Job& job, std::vector<Finding>& to) {
  for (const Rank& r : job.ranks) {
    if (!is_stuck(r)) continue;
    for (const Wait& w : r.waits) {
      if (!is_receive(w) || may_still_come(job, w)) continue;
      if (is_held_up(job, r, w, to)) break;
      const std::size_t before = to.size();
      look_among(r, w, r.messages, "it has", to);
      for (const Rank& sender : job.ranks)
        if (to.size() == before) look_among_pending(r, w, sender, to);
      if (to.size() > before) break;
    }
  }
}

void find_lost_ranks(const Job& job, std::vector<Finding>& to) {
  // An old story unless somebody wants something from one of the two, as far as is known.
  const auto is_wanted = [&](int rank) {
    return std::any_of(job.ranks.begin(), job.ranks.end(), [&](const Rank& r) {
      return r.fate == Fate::testing || std::any_of(r.waits.begin(), r.waits.end(), [&](const Wait& w) {
               return w.peers.empty() || std::find(w.peers.begin(), w.peers.end(), rank) != w.peers.end();
             });
    });
  };
  for (const Rank& r : job.ranks) {
    for (const Lost& lost : r.lost) {
      if (!is_wanted(r.rank) && !is_wanted(lost.rank)) continue;
      to.push_back(
          {"lost connection", fmt::format("Rank {} has no connection to {} any more: {}. What it sent there or "
                                          "wanted from there has failed.",
                                          r.rank, ranks_text(r, {lost.rank}), lost.error)});
    }
  }
}

void find_lost_waits(const Job& job, std::vector<Finding>& to) {
  for (const Rank& r : job.ranks) {
    if (!is_stuck(r)) continue;
    for (const Wait& w : r.waits) {
      if (w.kind == "generalised") {
        to.push_back({"lost wait", fmt::format("Rank {} waits in {} for a generalised request, which only the program "
                                               "itself can complete (MPI_Grequest_complete).",
                                               r.rank, r.call)});
        continue;
      }
      if (w.kind == "ready") {
        to.push_back(
            {"lost wait", fmt::format("Rank {} {}, which only the program itself can call: no partitioned send "
                                      "is complete before all its partitions are ready.",
                                      r.rank, doing_text(r))});
        break;
      }
      const bool receives = is_receive(w);
      const bool sends = w.kind == "send" && !w.message.matched && !is_collective(w.message);
      if ((!receives && !sends) || w.peers.empty()) continue;
      const bool from_self = w.peers.size() == 1 && w.peers.front() == r.rank;
      const bool all_over = std::all_of(w.peers.begin(), w.peers.end(), [&](int peer) {
        const Rank* p = rank_of(job, peer);
        return p && (p->fate == Fate::left || p->fate == Fate::gone || p->call == "MPI_Finalize");
      });
      if (!from_self && !all_over) continue;
      to.push_back({"lost wait",
                    fmt::format("Rank {} {}, which can never complete: {}.", r.rank, doing_text(r),
                                from_self ? std::string("it would have to come from itself, and it waits")
                                          : fmt::format("{} {} in MPI_Finalize and {}", ranks_text(w.peers),
                                                        w.peers.size() > 1 ? "are" : "is",
                                                        receives ? "will send nothing more" : "will not receive it"))});
      break;
    }
  }
}

}  // namespace rmq::diag
