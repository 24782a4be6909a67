// Collectives that the ranks of a communicator did not call alike: each rank keeps the latest calls on each
// communicator, numbered.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tools/diag/find.hpp"

namespace rmq::diag {

namespace {

// One communicator, as each of its members told of it. Communicators without a member in common may share a context.
using Key = std::pair<std::uint32_t, std::vector<int>>;
using Views = std::map<int, const Comm*>;  // by world rank

// Each rank has numbers of its own for processes of other jobs: their names are the same everywhere.
std::map<Key, Views> communicators(const Job& job) {
  std::map<Key, Views> out;
  std::map<std::string, int> others;
  for (const Rank& r : job.ranks)
    for (const Comm& c : r.comms) {
      if (c.recv_context != c.context || c.members.size() < 2) continue;
      std::vector<int> members = c.members;
      for (int& member : members)
        if (const auto other = r.foreigners.find(member); other != r.foreigners.end())
          member = static_cast<int>(
              job.ranks.size() + static_cast<std::size_t>(
                                     others.try_emplace(other->second, static_cast<int>(others.size())).first->second));
      out[{c.context, members}][r.rank] = &c;
    }
  return out;
}

// Large counts change nothing.
std::string plain(const std::string& call) {
  return call.ends_with("_c") ? call.substr(0, call.size() - 2) : call;
}

// Whether all ranks must pass as many bytes.
bool has_one_size(const std::string& call) {
  for (const char* name : {"Bcast", "Reduce", "Allreduce", "Scan", "Exscan"}) {
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

// The first call that was not the same everywhere; true when there was one.
bool compare_calls(const Views& views, std::vector<Finding>& to) {
  std::map<std::uint32_t, std::map<int, const Called*>> calls;  // by number, by rank
  for (const auto& [rank, comm] : views)
    for (const Called& call : comm->called) calls[call.number][rank] = &call;
  const std::string& name = views.begin()->second->name;
  for (const auto& [number, ranks] : calls) {
    std::map<std::string, std::vector<int>> names;
    std::map<int, std::vector<int>> roots;
    std::map<std::uint64_t, std::vector<int>> sizes;
    for (const auto& [rank, call] : ranks) {
      names[plain(call->call)].push_back(rank);
      roots[call->root].push_back(rank);
      sizes[call->bytes].push_back(rank);
    }
    if (names.size() > 1) {
      const auto left = names.find("MPI_Finalize");
      if (left != names.end() && names.size() == 2) {
        const auto& [call, missed] = *(left == names.begin() ? std::next(left) : names.begin());
        to.push_back({"missing collective",
                      fmt::format("{} {} not come to {}, call {} on {}, where {} wait{}: {} in MPI_Finalize already.",
                                  ranks_text(left->second), left->second.size() > 1 ? "have" : "has", call, number,
                                  name, ranks_text(missed), missed.size() > 1 ? "" : "s",
                                  left->second.size() > 1 ? "they are" : "it is")});
      } else {
        to.push_back({"mismatched collectives",
                      fmt::format("The ranks do not call the same collectives on {}: as call {}, {}.", name, number,
                                  by_value(names, [](const std::string& call) { return "called " + call; }))});
      }
      return true;
    }
    const std::string& call = names.begin()->first;
    if (roots.size() > 1 && roots.begin()->first >= 0) {
      to.push_back({"mismatched roots",
                    fmt::format("The ranks do not agree on the root of {}, call {} on {}: {}.", call, number, name,
                                by_value(roots, [](int root) { return fmt::format("passed {}", root); }))});
      return true;
    }
    if (sizes.size() > 1 && has_one_size(call)) {
      to.push_back({"mismatched collective sizes",
                    fmt::format("The ranks do not agree on the size of {}, call {} on {}: {}.", call, number, name,
                                by_value(sizes, [](std::uint64_t n) { return fmt::format("passed {} bytes", n); }))});
      return true;
    }
  }
  return false;
}

// Ranks that wait in the latest collective, and members that have not called it.
void find_absent(const Job& job, const Views& views, std::vector<Finding>& to) {
  std::uint32_t latest = 0;
  for (const auto& [rank, comm] : views) latest = std::max(latest, comm->collectives);
  if (latest == 0) return;
  std::vector<int> there, absent, dumb;
  const Comm* some = nullptr;
  for (const auto& [rank, comm] : views) {
    const Rank& r = job.ranks[static_cast<std::size_t>(rank)];
    const bool waits =
        r.fate == Fate::waiting && std::any_of(r.waits.begin(), r.waits.end(), [&r, c = comm](const Wait& w) {
          return is_collective(w.message) && r.comm_of(w.message.context) == c;
        });
    if (comm->collectives < latest) {
      absent.push_back(rank);
    } else if (waits) {
      there.push_back(rank);
      some = comm;
    }
  }
  if (there.empty()) return;
  const std::vector<int>& members = views.begin()->second->members;
  for (const int rank : members)
    if (!views.count(rank) && rank < static_cast<int>(job.ranks.size())) dumb.push_back(rank);
  absent.insert(absent.end(), dumb.begin(), dumb.end());
  if (absent.empty() || some->called.empty()) return;
  const Called& call = some->called.back();
  const Rank& first = job.ranks[static_cast<std::size_t>(absent.front())];
  to.push_back(
      {"missing collective",
       fmt::format("{} {} not come to {}, call {} on {}, where {} wait{}: {} {}.", ranks_text(absent),
                   absent.size() > 1 ? "have" : "has", call.call, call.number, some->name, ranks_text(there),
                   there.size() > 1 ? "" : "s",
                   absent.size() > 1 ? fmt::format("rank {}", first.rank) : std::string("it"), doing_text(first))});
}

}  // namespace

void find_bad_collectives(const Job& job, std::vector<Finding>& to) {
  for (const auto& [key, views] : communicators(job))
    if (!compare_calls(views, to)) find_absent(job, views, to);
}

}  // namespace rmq::diag
