// SPDX-License-Identifier: BSD-3-Clause
// Collectives that the ranks of a communicator did not call alike: each rank keeps the latest calls on each
// communicator, numbered.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

// One communicator, as each of its members told of it. Communicators without a member in common may share a context. Of
// an inter-communicator it is that of each group, the one that comes first in front.
using Side = std::pair<std::uint32_t, std::vector<int>>;
using Key = std::array<Side, 2>;
using Views = std::map<int, const Comm*>;  // by world rank

// Each rank has numbers of its own for processes of other jobs: their names are the same everywhere.
std::map<Key, Views> communicators(const Job& job) {
  std::map<Key, Views> out;
  std::map<std::string, int> others;
  const auto everywhere = [&](const Rank& r, std::vector<int> members) {
    for (int& member : members)
      if (const auto other = r.foreigners.find(member); other != r.foreigners.end())
        member = static_cast<int>(
            job.ranks.size() +
            static_cast<std::size_t>(others.try_emplace(other->second, static_cast<int>(others.size())).first->second));
    return members;
  };
  for (const Rank& r : job.ranks)
    for (const Comm& c : r.comms) {
      if (!c.whole || c.members.size() + c.local.size() < 2) continue;
      // Each group receives with a context of its own.
      Key key{Side{c.context, everywhere(r, c.members)}, {}};
      if (c.is_inter()) {
        key[1] = {c.recv_context, everywhere(r, c.local)};
        std::sort(key.begin(), key.end());
      }
      out[key][r.rank] = &c;
    }
  return out;
}

// Large counts change nothing.
std::string plain(const std::string& call) {
  return call.ends_with("_c") ? call.substr(0, call.size() - 2) : call;
}

// Whether all ranks must pass as many bytes.
bool has_one_size(const std::string& call) {
  for (const char* name :
       {"Bcast", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"}) {
    std::string nonblocking = std::string("MPI_I") + name;
    nonblocking[5] = static_cast<char>(nonblocking[5] | 0x20);
    if (call == std::string("MPI_") + name || call == nonblocking) return true;
  }
  return false;
}

// "rank 0 called MPI_Bcast, ranks 1-3 called MPI_Barrier"
template <class Value, class Words>
std::string by_value(const std::map<Value, std::vector<int>>& groups, Words&& words) {
  std::string out;
  for (const auto& [value, ranks] : groups)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", ranks_text(ranks), words(value));
  return out;
}

// The calls of one number, by world rank.
struct Calls {
  std::uint32_t number;
  std::map<int, std::pair<const Comm*, const Called*>> by_rank;
  const std::string& comm() const { return by_rank.begin()->second.first->name; }
  std::string call() const { return plain(by_rank.begin()->second.second->call); }
};

bool compare_names(const Calls& calls, std::vector<Finding>& to) {
  std::map<std::string, std::vector<int>> names;
  for (const auto& [rank, view] : calls.by_rank) names[plain(view.second->call)].push_back(rank);
  if (names.size() == 1) return false;
  const auto left = names.find("MPI_Finalize");
  if (left != names.end() && names.size() == 2) {
    const auto& [call, missed] = *(left == names.begin() ? std::next(left) : names.begin());
    const bool many = left->second.size() > 1;
    to.push_back({"missing collective",
                  fmt::format("{} {} not come to {}, call {} on {}, where {} wait{}: {} in MPI_Finalize already.",
                              ranks_text(left->second), many ? "have" : "has", call, calls.number, calls.comm(),
                              ranks_text(missed), missed.size() > 1 ? "" : "s", many ? "they are" : "it is")});
  } else {
    to.push_back({"mismatched collectives",
                  fmt::format("The ranks do not call the same collectives on {}: as call {}, {}.", calls.comm(),
                              calls.number, by_value(names, [](const std::string& n) { return "called " + n; }))});
  }
  return true;
}

constexpr int kRoot = -3, kProcNull = -1;  // MPI_ROOT and MPI_PROC_NULL, which is also told of calls without a root

// Whether the roots that the ranks of an inter-communicator passed fit together: in one group all pass the rank of the
// root in the other group, where that one passes MPI_ROOT and all others MPI_PROC_NULL.
bool roots_fit(const Calls& calls) {
  const Comm* receiver = nullptr;  // of a rank of the group that names a root
  int root = kProcNull;
  for (const auto& [rank, view] : calls.by_rank)
    if (view.second->root >= 0) receiver = view.first, root = view.second->root;
  int roots = 0;
  return std::all_of(calls.by_rank.begin(), calls.by_rank.end(), [&](const auto& entry) {
    const Called* const called = entry.second.second;
    if (!receiver) return called->root == kProcNull || (called->root == kRoot && ++roots == 1);
    if (has(receiver->local, entry.first)) return called->root == root;
    const auto place = static_cast<std::size_t>(root);
    const bool is_root = place < receiver->members.size() && receiver->members[place] == entry.first;
    return called->root == (is_root ? kRoot : kProcNull);
  });
}

std::string root_text(int root) {
  return root == kRoot       ? "passed MPI_ROOT"
         : root == kProcNull ? "passed MPI_PROC_NULL"
                             : fmt::format("passed {}", root);
}

bool compare_roots(const Calls& calls, std::vector<Finding>& to) {
  std::map<int, std::vector<int>> roots;
  for (const auto& [rank, view] : calls.by_rank) roots[view.second->root].push_back(rank);
  const bool inter = calls.by_rank.begin()->second.first->is_inter();
  if (inter ? roots_fit(calls) : roots.size() == 1 || roots.begin()->first < 0) return false;
  to.push_back({"mismatched roots",
                fmt::format("The ranks do not agree on the root of {}, call {} on {}: {}.{}", calls.call(),
                            calls.number, calls.comm(), by_value(roots, root_text),
                            inter ? " One group has to pass the rank of the root in the other group, where the root "
                                    "passes MPI_ROOT and the others MPI_PROC_NULL."
                                  : "")});
  return true;
}

bool compare_sizes(const Calls& calls, std::vector<Finding>& to) {
  if (!has_one_size(calls.call())) return false;
  const bool rooted = std::any_of(calls.by_rank.begin(), calls.by_rank.end(),
                                  [](const auto& entry) { return entry.second.second->root != kProcNull; });
  std::map<std::uint64_t, std::vector<int>> sizes;
  for (const auto& [rank, view] : calls.by_rank) {
    // MPI_PROC_NULL only looks on, and passes no size.
    if (!rooted || view.second->root != kProcNull) sizes[view.second->bytes].push_back(rank);
  }
  if (sizes.size() < 2) return false;
  to.push_back(
      {"mismatched collective sizes",
       fmt::format("The ranks do not agree on the size of {}, call {} on {}: {}.", calls.call(), calls.number,
                   calls.comm(), by_value(sizes, [](std::uint64_t n) { return fmt::format("passed {} bytes", n); }))});
  return true;
}

// The first call that was not the same everywhere; true when there was one.
bool compare_calls(const Views& views, std::vector<Finding>& to) {
  std::map<std::uint32_t, Calls> all;  // by number
  for (const auto& [rank, comm] : views)
    for (const Called& call : comm->called) {
      Calls& calls = all[call.number];
      calls.number = call.number;
      calls.by_rank[rank] = {comm, &call};
    }
  return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
    const Calls& calls = entry.second;
    return compare_names(calls, to) || compare_roots(calls, to) || compare_sizes(calls, to);
  });
}

// Ranks that wait in the latest collective of a communicator, and members that have not called it.
struct Absence {
  const Comm* comm = nullptr;
  std::vector<int> there, absent;
  const Called& call() const { return comm->called.back(); }
};

std::optional<Absence> find_absent(const Job& job, const Views& views) {
  std::uint32_t latest = 0;
  for (const auto& [rank, comm] : views) latest = std::max(latest, comm->collectives);
  if (latest == 0) return std::nullopt;
  Absence found;
  for (const auto& [rank, comm] : views) {
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    const auto waits_there = [&, c = comm](const Wait& w) { return is_collective(w.message) && r.comm_of(w) == c; };
    const bool waits = r.fate == Fate::waiting && std::any_of(r.waits.begin(), r.waits.end(), waits_there);
    if (comm->collectives < latest) {
      found.absent.push_back(rank);
    } else if (waits) {
      found.there.push_back(rank);
      found.comm = comm;
    }
  }
  if (!found.comm || found.comm->called.empty()) return std::nullopt;
  std::vector<int> members = found.comm->members;
  members.insert(members.end(), found.comm->local.begin(), found.comm->local.end());
  const auto size = static_cast<int>(job.ranks.size());
  for (const int rank : members)
    if (!views.count(rank) && rank < size && !job.ranks[static_cast<std::size_t>(rank)].cut)
      found.absent.push_back(rank);
  if (found.absent.empty()) return std::nullopt;
  return found;
}

std::string absent_text(const Job& job, const Absence& a) {
  const bool many = a.absent.size() > 1;
  const Rank& first = job.ranks[static_cast<std::size_t>(a.absent.front())];
  return fmt::format("{} {} not come to {}, call {} on {}, where {} wait{}: {} {}.", ranks_text(a.absent),
                     many ? "have" : "has", a.call().call, a.call().number, a.comm->name, ranks_text(a.there),
                     a.there.size() > 1 ? "" : "s", many ? fmt::format("rank {}", first.rank) : std::string("it"),
                     doing_text(first));
}

// Of those absent one that waits for who is there, in a call that makes a communicator of some of the ranks: it has
// passed a group which they do not know. nullptr: none.
const Rank* stranded(const Job& job, const Absence& a) {
  for (const int rank : a.absent) {
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    const auto waits_there = [&](const Wait& w) { return is_collective(w.message) && has(a.there, w.message.peer); };
    if (r.fate == Fate::waiting && r.call == "MPI_Comm_create_group" && std::ranges::any_of(r.waits, waits_there))
      return &r;
  }
  return nullptr;
}

// Whether each of the two has members at the other one, in the same call: they took different communicators for one.
bool are_mixed_up(const Absence& a, const Absence& b) {
  const auto meets = [](const std::vector<int>& some, const std::vector<int>& others) {
    return std::any_of(some.begin(), some.end(), [&](int rank) { return has(others, rank); });
  };
  return plain(a.call().call) == plain(b.call().call) && meets(a.absent, b.there) && meets(b.absent, a.there);
}

void tell_absences(const Job& job, const std::vector<Absence>& all, std::vector<Finding>& to) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Absence& a = all[i];
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const Absence& b = all[j];
      if (!are_mixed_up(a, b)) continue;
      to.push_back({"wrong communicator",
                    fmt::format("The ranks call {} on different communicators, and wait there for each other: {} on "
                                "{}, {} on {}.",
                                a.call().call, ranks_text(a.there), a.comm->name, ranks_text(b.there), b.comm->name)});
    }
  }
  for (const Absence& a : all) {
    const Rank* const r = stranded(job, a);
    to.push_back(r ? Finding{"mismatched groups",
                             fmt::format("Rank {} {}, while {} wait{} for it in {}, call {} on {}: the groups that "
                                         "they pass to MPI_Comm_create_group have to be the same, and the order of the "
                                         "calls.",
                                         r->rank, doing_text(*r), ranks_text(a.there), a.there.size() > 1 ? "" : "s",
                                         a.call().call, a.call().number, a.comm->name)}
                   : Finding{"missing collective", absent_text(job, a)});
  }
}

// Whether something of `sender` for this rank may still come.
bool has_pending(const Rank& sender, int to) {
  return std::any_of(sender.held_up.begin(), sender.held_up.end(), [&](const HeldUp& h) { return h.to == to; }) ||
         std::any_of(sender.sends.begin(), sender.sends.end(),
                     [&](const Message& m) { return m.peer == to && is_collective(m); });
}

// The first rank that waits in a collective for data of one that has gone on: they do not agree on what it sends.
bool find_left_behind(const Job& job, const Views& views, std::vector<Finding>& to) {
  for (const auto& [rank, comm] : views) {
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    // A call that does not wait may be under way when the next one comes.
    if (r.fate != Fate::waiting || comm->called.empty() || comm->called.back().call != r.call) continue;
    const Called& call = comm->called.back();
    for (const Wait& w : r.waits) {
      const auto peer = views.find(w.message.peer);
      if (w.kind != "recv" || !is_collective(w.message) || r.comm_of(w) != comm || peer == views.end()) continue;
      const Rank& sender = job.ranks[static_cast<std::size_t>(peer->first)];
      if (peer->second->collectives <= call.number || !is_stuck(sender) || has_pending(sender, rank)) continue;
      to.push_back({"mismatched collective sizes",
                    fmt::format("Rank {} waits in {}, call {} on {}, for data of rank {}, which has passed that call "
                                "and has nothing for it: the counts that the two pass for each other differ.",
                                rank, call.call, call.number, comm->name, peer->first)});
      return true;
    }
  }
  return false;
}

// The first rank that waits for a neighbour in a graph which does not have it as one.
void find_bad_neighbours(const Job& job, const Views& views, std::vector<Finding>& to) {
  for (const auto& [rank, comm] : views) {
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    const auto place = std::find(comm->members.begin(), comm->members.end(), rank) - comm->members.begin();
    for (const Wait& w : r.waits) {
      const auto peer = views.find(w.message.peer);
      if (!is_collective(w.message) || r.comm_of(w) != comm || peer == views.end()) continue;
      const bool sends = w.sends();
      const auto& mine = sends ? comm->destinations : comm->sources;
      const auto& theirs = sends ? peer->second->sources : peer->second->destinations;
      if (mine.empty() || has(theirs, static_cast<int>(place))) continue;
      to.push_back({"mismatched neighbours",
                    fmt::format("Rank {} {}, but in the graph of {} rank {} does not have it among its {}.", rank,
                                doing_text(r), comm->name, w.message.peer, sends ? "sources" : "destinations")});
      return;
    }
  }
}

}  // namespace

void find_bad_collectives(const Job& job, std::vector<Finding>& to) {
  std::vector<Absence> absences;
  for (const auto& [key, views] : communicators(job)) {
    if (compare_calls(views, to) || find_left_behind(job, views, to)) continue;
    find_bad_neighbours(job, views, to);
    if (auto absence = find_absent(job, views)) absences.push_back(std::move(*absence));
  }
  tell_absences(job, absences, to);
}

}  // namespace rmq::diag
