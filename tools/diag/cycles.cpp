// SPDX-License-Identifier: BSD-3-Clause
// The wait-for graph: cycles of ranks that wait for each other, and the ranks at whom the waiting ends.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

struct Edge {
  int to;
  const Wait* wait;
};

// A receive from any source is no edge: it waits for one of many.
std::vector<std::vector<Edge>> graph_of(const Job& job) {
  std::vector<std::vector<Edge>> out(job.ranks.size());
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const Rank& r = job.ranks[i];
    if (r.fate != Fate::waiting) continue;
    for (const Wait& w : r.waits) {
      const auto peers = waited_for(job, r, w);
      if (w.any && peers.size() > 1) continue;
      for (const int peer : peers)
        if (peer >= 0 && peer < static_cast<int>(out.size())) out[i].push_back({peer, &w});
    }
  }
  return out;
}

using Path = std::vector<std::pair<int, const Wait*>>;  // rank, and the wait for the next one

// The first cycle that is found from `start` on; `done` are ranks that lead to none.
bool walk(const std::vector<std::vector<Edge>>& graph, int at, Path& path, std::set<int>& done) {
  const auto on_path = std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == at; });
  if (on_path != path.end()) {
    path.erase(path.begin(), on_path);
    return true;
  }
  if (done.count(at)) return false;
  for (const Edge& e : graph[static_cast<std::size_t>(at)]) {
    path.emplace_back(at, e.wait);
    if (walk(graph, e.to, path, done)) return true;
    path.pop_back();
  }
  done.insert(at);
  return false;
}

const char* name_of(const Path& cycle) {
  const auto all = [&](auto&& kind) {
    return std::all_of(cycle.begin(), cycle.end(), [&](const auto& step) {
      return kind(step.second->kind) && !is_collective(step.second->message);
    });
  };
  if (all([](const std::string& k) { return k == "send"; })) return "head-to-head sends";
  if (all([](const std::string& k) { return k == "lock"; })) return "lock cycle";
  if (all([](const std::string& k) { return k == "recv" || k == "probe"; })) return "cycle of receives";
  return "cycle";
}

const char* verb_of(const Wait& w) {
  if (is_collective(w.message)) return "to come to it";
  if (w.kind == "send") return "to receive what it sends";
  if (w.kind == "recv" || w.kind == "probe") return "to send";
  if (w.kind == "memory") return "to change its memory";
  if (w.kind == "handler") return "to handle its messages";
  if (w.kind == "any_message") return "to send";
  if (w.kind == "lock") return "to unlock";
  if (w.kind == "post") return "to post";
  if (w.kind == "complete") return "to complete its access";
  if (w.kind == "fence") return "to come to the fence";
  return "to do what it has asked for";
}

std::string cycle_text(const Job& job, const Path& cycle) {
  std::string out = fmt::format("Ranks {} wait for each other: ", [&] {
    std::string list;
    for (const auto& [rank, wait] : cycle) list += fmt::format("{}{}", list.empty() ? "" : ", ", rank);
    return list;
  }());
  std::string before;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto& [rank, wait] = cycle[i];
    const int next = cycle[(i + 1) % cycle.size()].first;
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    const std::string what =
        wait->kind == "lock"   ? fmt::format(" the lock of window {} on rank {}", wait->window, wait->message.peer)
        : wait->kind == "send" ? fmt::format(" ({} bytes, tag {})", wait->message.bytes, wait->message.tag)
                               : "";
    std::string reason = fmt::format(" {}{}", verb_of(*wait), what);
    const bool alike =
        i > 0 && reason == before && r.call == job.ranks[static_cast<std::size_t>(cycle[i - 1].first)].call;
    out += alike ? fmt::format(", rank {} for rank {}", rank, next)
                 : fmt::format("{}rank {} waits in {} for rank {}{}", i ? ", " : "", rank, r.call, next, reason);
    before = std::move(reason);
    if (i == 3 && cycle.size() > 6) {
      out += fmt::format(", and so on to rank {}", cycle.back().first);
      break;
    }
  }
  return out + ".";
}

}  // namespace

std::vector<int> waited_for(const Job& job, const Rank& rank, const Wait& wait) {
  if (wait.kind != "lock" || wait.peers.empty()) return wait.peers;
  const auto target = static_cast<std::size_t>(wait.peers.front());
  const Window* window = target < job.ranks.size() ? job.ranks[target].window(wait.window) : nullptr;
  if (!window) return wait.peers;
  std::vector<int> holders = window->holders;
  std::erase(holders, rank.rank);
  return holders.empty() ? wait.peers : holders;
}

std::vector<int> waiters_of(const Job& job, int rank) {
  std::vector<int> out;
  const auto graph = graph_of(job);
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (std::any_of(graph[i].begin(), graph[i].end(), [&](const Edge& e) { return e.to == rank; }))
      out.push_back(static_cast<int>(i));
  return out;
}

void find_cycles(const Job& job, std::vector<Finding>& to) {
  const auto graph = graph_of(job);
  std::set<int> done;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Path path;
    if (!walk(graph, static_cast<int>(i), path, done)) continue;
    // Inside of one collective ranks wait for each other in turns; that is no cause.
    const bool inside =
        std::all_of(path.begin(), path.end(), [](const auto& step) { return is_collective(step.second->message); });
    if (!inside) to.push_back({name_of(path), cycle_text(job, path)});
    for (const auto& [rank, wait] : path) done.insert(rank);
  }
}

// Where chains of waiting end.
void find_ends(const Job& job, std::vector<Finding>& to) {
  const auto graph = graph_of(job);
  std::map<int, std::set<int>> behind;  // by the rank at the end: who waits for it, directly or not
  for (std::size_t i = 0; i < graph.size(); ++i) {
    std::set<int> seen;
    std::vector<int> next{static_cast<int>(i)};
    while (!next.empty()) {
      const int at = next.back();
      next.pop_back();
      if (!seen.insert(at).second) continue;
      for (const Edge& e : graph[static_cast<std::size_t>(at)]) next.push_back(e.to);
      if (at != static_cast<int>(i) && job.ranks[static_cast<std::size_t>(at)].fate != Fate::waiting)
        behind[at].insert(static_cast<int>(i));
    }
  }
  std::vector<std::pair<std::size_t, int>> order;
  for (const auto& [rank, who] : behind) order.emplace_back(who.size(), rank);
  std::sort(order.rbegin(), order.rend());
  const auto waiting = static_cast<std::size_t>(
      std::count_if(job.ranks.begin(), job.ranks.end(), [](const Rank& r) { return r.fate == Fate::waiting; }));
  for (const auto& [count, rank] : order) {
    const Rank& end = job.ranks[static_cast<std::size_t>(rank)];
    const auto& who = behind[rank];
    const std::string others = ranks_text({who.begin(), who.end()});
    const bool all = count == waiting && count > 1;
    const char* name = end.fate == Fate::gone || end.fate == Fate::left ? "rank has left"
                       : end.fate == Fate::stopped                      ? "rank is stopped"
                       : end.fate == Fate::silent                       ? "rank does not answer"
                                                                        : "waiting for one rank";
    to.push_back({name, fmt::format("{} wait{} for rank {}, which {}.",
                                    all ? fmt::format("All that wait ({})", others)
                                        : static_cast<char>(others[0] & ~0x20) + others.substr(1),
                                    count > 1 ? "" : "s", rank, doing_text(end))});
  }
}

std::vector<Finding> find(const Job& job) {
  std::vector<Finding> out;
  find_lost_ranks(job, out);
  find_dormant_requests(job, out);
  find_near_misses(job, out);
  find_bad_epochs(job, out);
  find_lost_waits(job, out);
  find_cycles(job, out);
  find_bad_collectives(job, out);
  find_ends(job, out);
  // Ranks that called different collectives, or on different communicators, wait for each other's messages in vain:
  // that is the cause of what else is found.
  std::stable_partition(out.begin(), out.end(), [](const Finding& f) {
    return f.name.starts_with("mismatched") || f.name == "wrong communicator";
  });
  return out;
}

}  // namespace rmq::diag
