// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are lost, deaths that the launcher tells of (rmqrun --ft), and what is revoked.
//
// A rank is lost to this one when its link breaks, and dead when the launcher says so. Who is lost to one is to be dead
// for all: so a loss that is not known to be a death is reported, and the launcher ends that rank. Whatever needs all
// to be of one mind (engine/ft) goes by deaths only.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adi/extensions.hpp"

namespace rmq::adi {

class Losses : public Extensions {
 public:
  /// Whether the launcher has told of the death of this process, of whatever job.
  bool is_dead(const Process& process) const;
  /// The same of this number, whose death is still to be told to extensions: what came from it before is being taken,
  /// or others die at the same time, and are lost first.
  bool is_dying(Rank rank) const;
  /// All of these jobs, which are of other launchers, are dead from now on.
  void take_for_dead(std::span<const std::uint64_t> jobs, const std::string& how);
  /// The party's members have numbers and channels from now on. It lives until it is dismissed.
  Party& admit_party(std::unique_ptr<Party> party);
  /// What still waits to go to processes that only parties adrift know is given up: this process ends, and they may be
  /// in no call of MPI for as long as they like.
  [[gnu::cold]] void leave_behind();
  /// Ends the messages of these contexts with Errc::revoked, those under way and all that come later; what has been
  /// matched already lands first, and what is not received is forgotten.
  void revoke_contexts(std::span<const std::uint32_t> contexts);
  /// Ends a receive that waits for messages, with this error. False: it has met all of its messages already.
  bool give_up_receive(Request* recv, Errc error);

 protected:
  Losses(DeviceOptions& options, Bootstrap& bootstrap);

  /// Takes what the launcher has told of deaths since the last time.
  void hear_of_deaths();

 private:
  struct Death {
    Rank number;
    std::string how;
  };
  struct ForeignDeath {
    std::uint64_t job;
    int rank;  // -1: all
    std::string how;
  };
  static void on_peer_lost(void* device, Rank rank, const Error& error);
  void fail_requests_of(Rank rank);
  void note_deaths(std::vector<Death> deaths);
  void note_deaths_elsewhere();
  void mark_dead(Rank number);
  void tell_death(Rank number);
  void lose_for_good(Rank number, const std::string& how);
  void note_loss(Rank rank);
  void revoke(Request* r);

  std::vector<Rank> dead_;                    // that the launcher has told of
  std::vector<Rank> dying_;                   // of them, those that extensions are still to hear of
  std::deque<Death> unlost_;                  // whose loss is to begin
  bool noting_deaths_ = false;                // in note_deaths()
  std::vector<ForeignDeath> dead_elsewhere_;  // the same of other jobs, known or not
};

}  // namespace rmq::adi
