// SPDX-License-Identifier: BSD-3-Clause
// A party as this process takes part in it: numbers for its members, and methods that reach them. How it comes about:
//
//   Party::open()      makes the methods that need nothing of others; cards() is what others need of them
//   Party::join()      with everybody's cards makes the rest
//   Losses::admit_party numbers the members that are new, and gives them channels; the party is the device's from then
//   on Device::dismiss_party  when no communicator of any member needs it any more
//
// Between open() and admit_party nothing arrives: the methods are not polled.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adi/makers.hpp"
#include "adi/relay.hpp"
#include "base/config.hpp"
#include "start/party.hpp"

namespace rmq::adi {

class Party {
 public:
  /// Everything outlives the party. `silent`: there is no machine, and nobody sleeps.
  /// `deaths_are_told`: the end of the line means only that the other root's job is to be asked after.
  Party(PartyFacts facts, const Config& config, const methods::Sink& up, std::vector<MethodMaker> makers, bool silent,
        void (*parted)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended), bool deaths_are_told);
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  Result<void> open();
  std::string cards() const { return bootstrap_.cards(); }
  Result<void> join(std::span<const std::string> cards);

  const PartyFacts& facts() const { return facts_; }
  int size() const { return static_cast<int>(facts_.members.size()); }
  /// This process's number of a member; once the device has admitted the party.
  Rank number(int member) const { return numbers_.of(member); }
  const std::vector<Rank>& numbers() const { return numbers_.number; }
  const PartyNumbers& all_numbers() const { return numbers_; }
  const std::vector<Relay*>& relays() const { return relays_; }
  /// What its relays ring.
  int bell_fd() const { return bell_->fd(); }
  /// The line by which the roots have met; the root's party alone has it. From then on it is watched.
  /// `beyond`: jobs of the other side that are none of this one's. What it is told next is the business of Losses.
  void tie(std::unique_ptr<Line> line, std::vector<std::uint64_t> beyond);
  /// Who has the line on this side.
  void set_root(Rank root, std::vector<std::uint64_t> beyond);
  /// A process has died, as the launcher says, which tells of each. If it was the root of this side the other side
  /// takes all of this one's for dead, unless it has the same launcher; so this one does the same. It may come before
  /// tie() and set_root(): members go on without a root that has died while the sides voted, if that had said yes.
  void on_death(Rank number);
  Lifeline& lifeline() { return lifeline_; }
  /// What it was made for has failed: it holds no jobs together any more, and stays, as nobody can tell what others on
  /// it still have to say.
  void set_adrift(bool adrift) { adrift_ = adrift; }
  bool is_adrift() const { return adrift_; }

 private:
  friend class Jobs;
  Result<bool> make(std::size_t candidate);
  bool all_reached() const;
  void end_with_root();

  const PartyFacts facts_;
  const Config config_;  // but for the port to listen on, which the job's own method has
  PartyNumbers numbers_;
  PartyBootstrap bootstrap_;
  Trace trace_;  // records nothing: members' numbers mean nothing to who reads the job's trace
  std::unique_ptr<Doorbell> bell_;
  const methods::Sink& up_;
  const bool silent_;
  void (*const parted_)(std::span<const std::uint64_t>, int, bool);
  const bool deaths_are_told_;
  Lifeline lifeline_;
  bool adrift_ = false;
  std::vector<Rank> dead_;  // members, as on_death() has said
  std::vector<MethodMaker> makers_;
  std::vector<std::unique_ptr<Relay>> made_;  // by candidate; nullptr: not (yet) made
  std::vector<bool> postponed_;               // by candidate
  std::vector<Relay*> relays_;                // once admitted: those that the device has
};

}  // namespace rmq::adi
