#include "mpi/dynamic/bonds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "mpi/coll/choice.hpp"
#include "mpi/coll/coll.hpp"
#include "mpi/coll/host_memory.hpp"
#include "mpi/ft/failures.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

bool has(const Comm& c, Rank r) {
  return c.group->place_of(r) != MPI_UNDEFINED || (c.remote && c.remote->place_of(r) != MPI_UNDEFINED);
}

/// Whether those are all of the party.
bool is_all_of(const Comm& c, const adi::Party& party) {
  if (c.size() + (c.remote ? c.remote_size() : 0) != party.size()) return false;
  return std::ranges::all_of(party.numbers(), [&](Rank r) { return has(c, r); });
}

/// Whether a communicator or window other than `c` needs a process that is known by this party alone.
bool is_needed(const adi::Party& party, const Comm& c) {
  for (const Comm* one = Comm::newest; one; one = one->older) {
    if (one == &c || one == c.local) continue;
    for (const auto& [number, met] : party.all_numbers().met_here)
      if (met && has(*one, number)) return true;
  }
  return false;
}

/// In the same order at all members.
std::vector<adi::Party*> parties_of(const Comm& c) {
  std::vector<adi::Party*> all;
  for (const auto& party : runtime().device->parties())
    if (is_all_of(c, *party)) all.push_back(party.get());
  std::ranges::sort(all, {}, [](const adi::Party* p) { return p->facts().id; });
  constexpr std::size_t kMost = 64;
  if (all.size() > kMost) all.resize(kMost);
  return all;
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
    place_.errhandler = &runtime().unset_errhandler;
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
  bool crowded;
  std::string forced;
  coll::Terms terms;
};
std::list<KnownTerms>& known_terms() {
  static auto* const all = new std::list<KnownTerms>;
  return *all;
}

}  // namespace

const coll::Terms& common_terms(bool crowded, std::string_view forced) {
  for (const KnownTerms& k : known_terms())
    if (k.crowded == crowded && k.forced == forced) return k.terms;
  auto choice = coll::Choice::parse(forced);
  if (!choice) fail_call(MPI_ERR_OTHER, "the other job's RMQ_COLL: " + choice.error().what);
  known_terms().push_back({crowded, std::string(forced), coll::Terms(std::move(*choice), crowded)});
  return known_terms().back().terms;
}

bool is_mixed(const Comm& c) {
  const adi::Device& d = *c.device;
  return d.MPID_Any_foreign(c.group->world) || (c.remote && d.MPID_Any_foreign(c.remote->world));
}

std::vector<adi::Party*> part_from(Comm& c) {
  if (!is_mixed(c)) return {};
  std::vector<adi::Party*> all = parties_of(c);
  Words unneeded{0};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!is_needed(*all[i], c)) unneeded[0] |= std::uint64_t{1} << i;
  // Also the wait for all of both sides.
  if (ft::may_fail()) {
    unneeded = ft::agree_among_living(c, unneeded);
  } else {
    and_all(whole_party(c), unneeded);
    if (c.is_inter()) unneeded[0] &= exchange(whole_party(c), bridge_of(c), unneeded).at(0);
  }
  std::vector<adi::Party*> over;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (unneeded[0] >> i & 1) over.push_back(all[i]);
  return over;
}

void tell_launcher(const char* what, std::uint64_t job) {
  Bootstrap& launcher = *runtime().bootstrap;
  // A launcher that cannot know of other jobs need not be told, and one that is gone will be missed elsewhere.
  if (launcher.watch_fd() >= 0) static_cast<void>(launcher.wish(what, job_name(job)));
}

void dismiss(adi::Party& party) {
  if (party.lifeline().tells()) tell_launcher("part", party.lifeline().job());
  for (const adi::Relay* relay : party.relays()) {
    coll::HostMemory::forget(runtime().terms, *relay);
    for (const KnownTerms& k : known_terms()) coll::HostMemory::forget(k.terms, *relay);
  }
  runtime().device->MPID_Dismiss(party);
}

void meet_parties() {
  adi::Device& d = *runtime().device;
  std::list<Roll> rolls;
  for (const auto& party : d.parties()) rolls.emplace_back(*party);
  const auto all_done = [&] {
    bool all = true;
    for (Roll& roll : rolls) all = roll.done() && all;
    return all;
  };
  while (!all_done()) d.MPID_Poll(true);
}

void end_for_parting(std::uint64_t job) {
  // Where ranks may die the launcher tells of each that has; of another one's jobs it knows nothing, and takes this.
  if (runtime().ft)
    return runtime().bootstrap->accuse(job_name(job), -1, "it, or the root by which it was connected, has ended");
  runtime().device->MPID_Abort(
      1,
      fmt::format("job {}, which this one is connected with, has ended without MPI_Finalize or MPI_Comm_disconnect",
                  job_name(job)),
      Blame::lost_peer);
}

}  // namespace rmq::mpi
