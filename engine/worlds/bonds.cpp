// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worlds/bonds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/host_memory.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/wish.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

bool has(const Comm& c, Rank r) {
  return c.group->place_of(r) != MPI_UNDEFINED || (c.remote && c.remote->place_of(r) != MPI_UNDEFINED);
}

/// Whether all of the party are members.
bool has_all_of(const Comm& c, const adi::Party& party) {
  if (c.size() + (c.remote ? c.remote_size() : 0) < party.size()) return false;
  return std::ranges::all_of(party.numbers(), [&](Rank r) { return has(c, r); });
}

/// Whether this process reaches one of those by this party alone.
template <class IsWanted>
bool is_only_way(const adi::Party& party, const IsWanted& is_wanted) {
  return std::ranges::any_of(party.all_numbers().met_here,
                             [&](const auto& one) { return one.second && is_wanted(one.first); });
}

/// Whether a communicator or window other than `c` needs a process that is known by this party alone.
bool is_needed_beside(const adi::Party& party, const Comm& c) {
  for (const Comm* one = Comm::newest; one; one = one->older) {
    if (one == &c || one == c.local) continue;
    if (is_only_way(party, [&](Rank r) { return has(*one, r); })) return true;
  }
  return false;
}

/// Names of parties, as they are told: their ids, or where ranks may die the ids modulo kPlaces.
using Names = std::set<std::uint64_t>;
constexpr std::uint64_t kPlaces = 64;

/// The parties that this process is in and that a communicator ends with, as all of their processes are its members.
class Leaving {
 public:
  explicit Leaving(const Comm& c) {
    for (const auto& party : runtime().device->parties()) {
      if (!has_all_of(c, *party)) continue;
      const bool needed = is_needed_beside(*party, c);
      if (!needed) party->lifeline().set_parting(adi::Lifeline::Parting::asked);
      mine_.push_back({party.get(), needed});
    }
    // The same order everywhere.
    std::ranges::sort(mine_, {}, [](const One& one) { return one.party->facts().id; });
  }

  /// Those that this process needs if these stay: all of a party that stays meet in the end.
  Names needed(const Names& staying) const {
    Names names;
    for (const One& one : mine_)
      if (one.needed || is_needed_by_party(*one.party, staying)) names.insert(told_as(*one.party));
    return names;
  }
  /// What is left when these stay.
  std::vector<adi::Party*> without(const Names& staying) const {
    std::vector<adi::Party*> over;
    for (const One& one : mine_) {
      const bool stays = staying.contains(told_as(*one.party));
      one.party->lifeline().set_parting(stays ? adi::Lifeline::Parting::no : adi::Lifeline::Parting::agreed);
      if (!stays) over.push_back(one.party);
    }
    return over;
  }

 private:
  struct One {
    adi::Party* party;
    bool needed;  // for a communicator or window
  };
  // Two parties may have one name where ranks may die, so that one may stay for the other.
  static std::uint64_t told_as(const adi::Party& party) {
    return ft::may_fail() ? party.facts().id % kPlaces : party.facts().id;
  }
  bool is_leaving(const adi::Party& party) const {
    return std::ranges::find(mine_, &party, [](const One& one) -> const adi::Party* { return one.party; }) !=
           mine_.end();
  }
  bool is_needed_by_party(const adi::Party& party, const Names& staying) const {
    return std::ranges::any_of(runtime().device->parties(), [&](const auto& other) {
      const bool stays = !is_leaving(*other) || staying.contains(told_as(*other));
      return stays && other.get() != &party && !other->is_adrift() &&
             is_only_way(party, [&](Rank r) { return other->all_numbers().inner(r) != kNoRank; });
    });
  }
  std::vector<One> mine_;
};

/// What any member of `c` says; collective. Where ranks die the living say it: those who have died need nothing.
Names said_by_any(Comm& c, const Names& mine) {
  if (ft::may_fail()) {
    Words unsaid(kPlaces, 1), all;
    for (const std::uint64_t name : mine) unsaid[name] = 0;
    all = ft::agree_among_living(c, unsaid);
    Names names;
    for (std::uint64_t name = 0; name < kPlaces; ++name)
      if (all[name] == 0) names.insert(name);
    return names;
  }
  Words words(mine.begin(), mine.end()), none_beyond{~words.size()};
  and_all(whole_party(c), none_beyond);  // of complements: at least the largest number is left
  words.resize(~none_beyond[0]);         // no party has the id 0
  Words all = gather_all(whole_party(c), words);
  if (c.is_inter()) {
    const Words theirs = exchange_with_remote(c, all);
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  Names names(all.begin(), all.end());
  names.erase(0);
  return names;
}

/// A name for the launchers, that all of the party know.
std::string name_of(const adi::Party& party) {
  return fmt::format("party {:016x}", party.facts().id);
}

bool has_launcher() {
  return runtime().bootstrap->has_launcher();
}

/// A dissemination barrier among the members of a party, which goes on while others do.
class Roll {
 public:
  explicit Roll(const adi::Party& party) {
    const auto numbers = party.facts().id;
    place_.context = place_.recv_context = kRolls | (static_cast<std::uint32_t>(numbers) & (kRolls - 2));
    place_.group = new_group(std::vector<Rank>(party.numbers()));
    place_.rank = party.facts().me;
    place_.device = runtime().device.get();
    place_.errhandler = &runtime().builtin_errhandlers[1];  // MPI_ERRORS_RETURN: who is lost does not come, and no more
    start();
  }
  ~Roll() { release(place_.group); }
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  bool done() {
    while (distance_ < place_.size()) {
      if (!send_->complete() || !recv_->complete()) return false;
      for (Request* r : {send_, recv_}) {
        failed_ = failed_ || r->status.error != Errc::ok;
        place_.device->MPID_Request_free(r);
      }
      distance_ *= 2;
      // Who has lost one of them goes on, so that the others do not wait for this one.
      start();
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kRolls = 1u << 31;
  void start() {
    if (distance_ >= place_.size()) return;
    const Buffer nothing{nullptr, 0, find_datatype(MPI_BYTE)};
    recv_ = start_recv(place_, (place_.rank - distance_ + place_.size()) % place_.size(), distance_, nothing);
    send_ = start_send(place_, (place_.rank + distance_) % place_.size(), distance_, nothing);
  }

  Comm place_;
  int distance_ = 1;
  bool failed_ = false;
  Request *send_ = nullptr, *recv_ = nullptr;
};

/// The terms of communicators of several jobs.
struct KnownTerms {
  std::string forced;
  coll::Terms terms;
};
std::list<KnownTerms>& known_terms() {
  static auto* const all = new std::list<KnownTerms>;
  return *all;
}

}  // namespace

const coll::Terms& common_terms(std::string_view forced) {
  for (const KnownTerms& k : known_terms())
    if (k.forced == forced) return k.terms;
  auto choice = coll::Choice::parse(forced);
  if (!choice) fail_call(MPI_ERR_OTHER, "the other job's RMQ_COLL: " + choice.error().what);
  known_terms().push_back({std::string(forced), coll::Terms(std::move(*choice), {})});
  return known_terms().back().terms;
}

const coll::Terms& agree_on_terms(const Party& members) {
  const adi::Device& d = *runtime().device;
  const std::string& forced = d.config().coll;
  Words words{forced.size()};
  words.resize(1 + (forced.size() + sizeof(words[0]) - 1) / sizeof(words[0]));
  std::memcpy(words.data() + 1, forced.data(), forced.size());
  broadcast(members, words);
  if (words.empty() || words[0] > (words.size() - 1) * sizeof(words[0]))
    fail_call(MPI_ERR_INTERN, "another member breaks the protocol");
  return common_terms({reinterpret_cast<const char*>(words.data() + 1), words[0]});
}

bool is_mixed(const Comm& c) {
  const adi::Device& d = *c.device;
  return d.any_foreign(c.group->world) || (c.remote && d.any_foreign(c.remote->world));
}

std::vector<adi::Party*> part_from(Comm& c) {
  if (!is_mixed(c)) return {};
  const Leaving parties(c);
  // Also the wait for all of both sides. What stays may need others, and so on, until nobody has more to say.
  Names staying, before;
  do {
    before = std::exchange(staying, said_by_any(c, parties.needed(staying)));
  } while (staying != before);
  const std::vector<adi::Party*> over = parties.without(staying);
  for (adi::Party* const party : over) tell_parting(*party);  // each says so itself
  return over;
}

void tell_parting(const adi::Party& party) {
  if (has_launcher()) static_cast<void>(runtime().bootstrap->wish("part", name_of(party)));
}

std::vector<std::uint64_t> tell_bond(const adi::Party& party) {
  std::set<std::string> jobs;
  for (const Process& p : party.facts().members) jobs.insert(job_name(p.job));
  std::vector<std::uint64_t> strangers;
  if (!has_launcher()) return strangers;
  const auto answer = ask_launcher("bond", {{"jobs", jobs}, {"tie", name_of(party)}});
  for (const auto& job : answer.value("strangers", std::vector<std::string>{})) strangers.push_back(job_number(job));
  return strangers;
}

void set_adrift(adi::Party& party) {
  party.lifeline().cut();
  party.set_adrift(true);
  if (has_launcher()) static_cast<void>(runtime().bootstrap->wish("adrift", name_of(party)));
}

void tie_again(const std::vector<Rank>& members, bool leader) {
  for (const auto& party : runtime().device->parties()) {
    const auto& known = party->all_numbers().met_here;
    if (!party->is_adrift() || std::ranges::none_of(members, [&](Rank r) { return known.contains(r); })) continue;
    party->set_adrift(false);
    if (leader) tell_bond(*party);
  }
}

void dismiss(adi::Party& party) {
  for (const adi::Relay* relay : party.relays()) {
    coll::HostMemory::forget(*runtime().world->terms, *relay);
    for (const KnownTerms& k : known_terms()) coll::HostMemory::forget(k.terms, *relay);
  }
  runtime().device->dismiss_party(party);
}

void meet_parties() {
  adi::Device& d = *runtime().device;
  std::list<Roll> rolls;
  for (const auto& party : d.parties())
    if (!party->is_adrift()) rolls.emplace_back(*party);
  const auto all_done = [&] {
    bool all = true;
    for (Roll& roll : rolls) all = roll.done() && all;
    return all;
  };
  while (!all_done()) d.MPID_Poll(true);
  d.leave_behind();
}

void end_for_parting(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended) {
  constexpr std::size_t kMostNames = 15;  // that a frame has room for (start/boot_wire.hpp): 255 bytes
  const auto names_of = [](std::span<const std::uint64_t> some) {
    std::vector<std::string> names;
    for (const std::uint64_t job : some) names.push_back(job_name(job));
    return fmt::format("{}", fmt::join(names, " "));
  };
  // Where ranks may die the launcher tells of each that has; of another one's jobs it knows nothing, and takes this.
  if (runtime().ft) {
    const char* const how =
        rank < 0 ? "it, or the root by which it was connected, has ended" : "its job says that it has died";
    if (line_has_ended) runtime().device->take_for_dead(jobs, how);
    for (; jobs.size() > kMostNames; jobs = jobs.subspan(kMostNames))
      runtime().bootstrap->accuse(names_of(jobs.first(kMostNames)), rank, how);
    return runtime().bootstrap->accuse(names_of(jobs), rank, how);
  }
  runtime().device->MPID_Abort(
      1,
      fmt::format("job {}, which this one is connected with, has ended without MPI_Finalize or MPI_Comm_disconnect",
                  names_of(jobs)),
      Blame::lost_peer);
}

}  // namespace rmq::mpi
