// SPDX-License-Identifier: BSD-3-Clause
// The diagnosis in words.
#include <fmt/format.h>

#include <algorithm>

#include "tools/diag/find.hpp"

namespace rmq::diag {

std::string ranks_text(std::vector<int> ranks) {
  if (ranks.empty()) return "no rank";
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    if (last - i >= 2) {
      parts.push_back(fmt::format("{}-{}", ranks[i], ranks[last]));
    } else {
      for (std::size_t j = i; j <= last; ++j) parts.push_back(std::to_string(ranks[j]));
    }
    i = last + 1;
  }
  const bool one = ranks.front() == ranks.back();
  std::string out = one ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

std::string ranks_text(const Rank& r, std::vector<int> peers) {
  std::vector<std::string> parts;
  for (const auto& [number, name] : r.foreigners)
    if (std::erase(peers, number) > 0) parts.push_back(name);
  if (!peers.empty() || parts.empty()) parts.insert(parts.begin(), ranks_text(std::move(peers)));
  constexpr std::size_t most = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return parts.size() > most ? fmt::format("{} and {} more", out, parts.size() - most) : out;
}

std::string comm_text(const Rank& r, const Wait& w) {
  const Comm* c = r.comm_of(w);
  return c ? c->name : fmt::format("a communicator of its own (context {})", w.message.context & ~1u);
}

namespace {

std::string tag_text(const Message& m) {
  return m.tag < 0 ? "any tag" : fmt::format("tag {}", m.tag);
}

std::string partitions_text(std::uint32_t n) {
  return fmt::format("{} partition{}", n, n == 1 ? "" : "s");
}

// "call 3 on MPI_COMM_WORLD"; with its name where a request waits for it
std::string collective_text(const Rank& r, const Wait& w) {
  const Comm* c = r.comm_of(w);
  if (!c || c->called.empty()) return "on " + comm_text(r, w);
  const Called& call = c->called.back();
  return fmt::format("{}call {} on {}", call.call == r.call ? "" : call.call + ", ", call.number, c->name);
}

}  // namespace

std::string wait_text(const Rank& r, const Wait& w) {
  const Message& m = w.message;
  if (w.kind == "recv" && is_collective(m))
    return fmt::format("{} ({})", ranks_text(r, w.peers), collective_text(r, w));
  if (w.kind == "send" && is_collective(m))
    return fmt::format("{} to receive ({})", ranks_text(r, w.peers), collective_text(r, w));
  if (w.kind == "recv" && m.matched)
    return fmt::format("the rest of a message from {} with {}", ranks_text(r, w.peers), tag_text(m));
  if (w.kind == "recv" || w.kind == "probe")
    return fmt::format("a message from {} with {} on {}", w.any ? "any rank" : ranks_text(r, w.peers), tag_text(m),
                       comm_text(r, w));
  if (w.kind == "send")
    return fmt::format("{} to receive {} bytes with {} on {}{}", ranks_text(r, w.peers), m.bytes, tag_text(m),
                       comm_text(r, w),
                       m.step == "announced"        ? " (rendezvous unanswered)"
                       : m.step == "queued"         ? " (pending)"
                       : m.step == "unacknowledged" ? " (synchronous)"
                                                    : "");
  if (w.kind == "partitions")
    return fmt::format("{} from {} with {} on {}", partitions_text(w.number), ranks_text(r, w.peers), tag_text(m),
                       comm_text(r, w));
  if (w.kind == "ready")
    return fmt::format("MPI_Pready of {} with {} on {}", partitions_text(w.number), tag_text(m), comm_text(r, w));
  if (w.kind == "lock") return fmt::format("the lock of window {} on {}", w.window, ranks_text(r, w.peers));
  if (w.kind == "post") return fmt::format("{} to post window {}", ranks_text(r, w.peers), w.window);
  if (w.kind == "complete")
    return fmt::format("{} to complete the access to window {}", ranks_text(r, w.peers), w.window);
  if (w.kind == "fence") return fmt::format("{} at fence {} of window {}", ranks_text(r, w.peers), w.number, w.window);
  if (w.kind == "operations") return fmt::format("operations on window {} at {}", w.window, ranks_text(r, w.peers));
  if (w.kind == "memory") return fmt::format("{}, which any PE may change", w.text);
  if (w.kind == "handler") return fmt::format("{} to handle active messages", ranks_text(r, w.peers));
  if (w.kind == "any_message") return "an active message of any rank";
  if (w.kind == "job") return "another job";
  if (w.kind == "generalised") return "a generalised request";
  return "a request";
}

namespace {

std::string waits_text(const Rank& r) {
  constexpr std::size_t most = 2;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, r.waits.size()); ++i) out += (i ? "; " : "") + wait_text(r, r.waits[i]);
  const std::size_t all = r.waits.size() + r.more_waits;
  if (all > most) out += fmt::format("; and {} more", all - most);
  return out;
}

const char* state_text(const Rank& r) {
  switch (r.fate) {
    case Fate::waiting:
      return "waits";
    case Fate::testing:
      return "tests";
    case Fate::computing:
      return "computes";
    case Fate::silent:
      return "silent";
    case Fate::stopped:
      return "stopped";
    case Fate::starting:
      return "starts";
    case Fate::left:
      return "left";
    case Fate::gone:
      return "gone";
  }
  return "";
}

}  // namespace

std::string doing_text(const Rank& r) {
  switch (r.fate) {
    case Fate::waiting:
      return fmt::format("waits in {}{}", r.call, r.waits.empty() ? "" : " for " + waits_text(r));
    case Fate::testing:
      return fmt::format("calls {} again and again{}", r.call,
                         r.waits.empty() ? ", which finds nothing" : ", for " + waits_text(r));
    case Fate::computing:
      if (r.state == "callback") return fmt::format("computes in a function of the program that {} has called", r.call);
      if (r.state == "connecting") return "asks for the address of another rank";
      if (r.state == "busy") return fmt::format("does not answer in full: computing in {}", r.call);
      return r.call.empty() ? "computes outside of MPI"
                            : fmt::format("computes outside of MPI (its latest call was {})", r.call);
    case Fate::silent:
      if (!r.host.empty()) return fmt::format("does not answer (its host {})", r.host);
      return fmt::format("does not answer{}", r.process.empty() || r.process == "unknown"
                                                  ? ""
                                                  : fmt::format(" (its process is {})", r.process));
    case Fate::stopped:
      return "is stopped by a signal (kill -CONT continues it)";
    case Fate::starting:
      return fmt::format("has not called MPI_Init{}", r.host.empty() ? "" : fmt::format(" (its host {})", r.host));
    case Fate::left:
      return "has left MPI (MPI_Finalize)";
    case Fate::gone:
      return "has exited";
  }
  return "";
}

std::string describe(const Job& job) {
  const auto findings = find(job);
  std::string out;
  if (findings.empty()) {
    const bool waiting =
        std::any_of(job.ranks.begin(), job.ranks.end(), [](const Rank& r) { return r.fate == Fate::waiting; });
    out += waiting ? "no cause found: see what the ranks wait for\n" : "no rank waits\n";
  }
  // The first is the cause; others of its kind may be as well, the rest follows from them.
  constexpr int most = 2;
  int said = 0;
  for (const Finding& f : findings)
    if (f.name == findings.front().name && said++ < most) out += fmt::format("{}: {}\n", f.name, f.text);

  // Neighbours that do the same share a line.
  struct Row {
    std::vector<int> ranks;
    std::string state, call, waits;
  };
  std::vector<Row> rows;
  for (const Rank& r : job.ranks) {
    std::string text = r.fate == Fate::waiting ? waits_text(r) : doing_text(r);
    for (const std::string& note : r.notes) text += fmt::format("{}{}", &note == &r.notes.front() ? "  [" : ", ", note);
    if (!r.notes.empty()) text += "]";
    Row row{{r.rank}, state_text(r), r.call, std::move(text)};
    if (!rows.empty() && rows.back().state == row.state && rows.back().call == row.call &&
        rows.back().waits == row.waits)
      rows.back().ranks.push_back(r.rank);
    else
      rows.push_back(std::move(row));
  }
  std::size_t ranks_width = 4, call_width = 2;
  for (const Row& row : rows) {
    ranks_width = std::max(ranks_width, ranks_text(row.ranks).size() - (row.ranks.size() > 1 ? 6 : 5));
    call_width = std::max(call_width, row.call.size());
  }
  out += fmt::format("  {:>{}}  {:<8}  {:<{}}  {}\n", "rank", ranks_width, "", "in", call_width, "for");
  for (const Row& row : rows)
    out += fmt::format("  {:>{}}  {:<8}  {:<{}}  {}\n", ranks_text(row.ranks).substr(row.ranks.size() > 1 ? 6 : 5),
                       ranks_width, row.state, row.call, call_width, row.waits);
  return out;
}

}  // namespace rmq::diag
