// SPDX-License-Identifier: BSD-3-Clause
// Processes of other jobs: the parties by whose methods they are reached, and their numbers. The numbers are this
// process's own; none ever travels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "adi/cancel.hpp"
#include "adi/party.hpp"

namespace rmq::adi {

class Jobs : public Cancel {
 public:
  /// What all jobs name the process by. `host` is 0 as long as nobody has told where a rank of the own job is.
  Process process_of(Rank number) const;
  /// Its number here; kNoRank: it has not been met, or has been dismissed since.
  Rank number_of(const Process& process) const;
  /// Where a process lives: to be told of all members of what foreign ones are in, since their hosts have no index
  /// here.
  void note_host(const Process& process);
  /// False: the process has been dismissed.
  bool is_here(Rank number) const { return number < size() || number_of(process_of(number)) != kNoRank; }
  /// Whether any of them is of another job.
  bool any_foreign(const Ranks& ranks) const;
  /// What is equal for ranks that share memory: the index of a host of the job, or a hash where others are among those
  /// that are compared (`foreign`).
  std::uint64_t host_of(Rank r, bool foreign) const;
  /// Which of these ranks are on the host of `r`: their places, in order.
  Ranks places_beside(Rank r, const Ranks& members) const;
  /// Whether a party of this id can be told from those that there are.
  bool party_is_new(std::uint64_t id) const;
  /// A party to be opened, joined, and then admitted: party.hpp.
  std::unique_ptr<Party> make_party(PartyFacts facts);
  const std::vector<std::unique_ptr<Party>>& parties() const { return parties_; }

 protected:
  Jobs(DeviceOptions& options, Bootstrap& bootstrap) : Cancel(options, bootstrap), on_parted_(options.on_parted) {}
  ~Jobs() { methods_.clear(); }  // parties outlive their relays, which are among the methods

  /// The party's members have numbers and channels from now on.
  Party& admit(std::unique_ptr<Party> party);
  /// Those that are known by this party alone are forgotten; nothing is under way to them.
  void dismiss(Party& party);
  /// Of those that are not dismissed, of a job or of one rank of it (-1: all): calls f(number).
  template <class F>
  void for_each_of(std::uint64_t job, int rank, F&& f) const {
    for (const auto& [who, number] : number_of_)
      if (who.first == job && (rank < 0 || who.second == static_cast<std::uint32_t>(rank))) f(number);
  }
  /// Processes of other jobs by number, behind the job's ranks.
  const std::vector<Process>& foreign() const { return foreign_; }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // job, and rank there
  static Key key_of(const Process& p) { return {p.job, p.rank}; }
  Rank number_for(const Process& who, std::uint64_t credit, std::vector<Rank>& again);

  void (*const on_parted_)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended);
  std::vector<std::unique_ptr<Party>> parties_;
  std::vector<Process> foreign_;
  std::map<Key, Rank> number_of_;         // of those that are not dismissed
  std::map<Key, Rank> dismissed_;         // the others
  std::map<int, std::uint64_t> host_id_;  // of the job's hosts, as far as known
};

}  // namespace rmq::adi
