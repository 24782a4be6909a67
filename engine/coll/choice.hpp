// SPDX-License-Identifier: BSD-3-Clause
// The terms of a communicator: what the choice of algorithms (rules.hpp) looks at besides a call's arguments and the
// number of ranks. The choice must come out alike on every rank.
//
// What is forced (RMQ_COLL) is rank 0's word for the whole job. On their traits the members of a communicator agree
// when they make it (ContextTurn); MPI_COMM_WORLD is there without a word, so the first rank of each host publishes its
// own when MPI starts, and who first needs to know goes through the hosts, until one is crowded. Rank 0 publishes what
// it has come to: with many hosts that is there before others are through. Nobody waits for a rank to do more than
// begin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/coll/guests.hpp"
#include "engine/coll/rules.hpp"
#include "engine/object/traits.hpp"
#include "start/bootstrap.hpp"

namespace rmq::adi {
class Device;
}

namespace rmq::mpi::coll {

/// What the choice looks at besides arguments, number of ranks and where they are: the same on all ranks.
class Terms {
 public:
  Terms() = default;
  Terms(Choice choice, Traits traits) : choice_(std::move(choice)), traits_(traits) {}

  /// `whole`: also the traits of the whole job.
  bool known(bool whole) const { return has_choice_ && (!whole || has_traits_); }
  /// Asks the connection server for them, without waiting for the answer; whether they are known now. To be asked again
  /// until then.
  Result<bool> ask(bool whole) const;
  /// Asks until they are known, and polls the device meanwhile, also in a task. Throws a Failure when the job ends
  /// meanwhile.
  void await(adi::Device& device, bool whole) const;

  // Once they are known.
  const Choice& choice() const { return choice_; }
  /// Of all ranks of the job.
  Traits traits() const { return traits_; }

  Lent& lent() const { return lent_; }

 private:
  friend Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, Traits traits);
  Result<std::optional<std::string>> look_up(std::string_view key) const;
  Result<void> ask_choice() const;
  Result<void> ask_traits() const;

  Bootstrap* from_ = nullptr;  // where there is something to ask for
  mutable Choice choice_;
  mutable Traits traits_;
  mutable bool has_choice_ = true, has_traits_ = true;
  mutable int next_host_ = 0;  // to ask for; all before are uncrowded
  mutable Lent lent_;
};

/// The terms of the job: rank 0's RMQ_COLL, and the traits of the first rank of each host. Once on every rank; costs no
/// round trip. Errc::config for a word of this rank's RMQ_COLL that names nothing, or an algorithm that the collective
/// has not.
Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, Traits traits);

}  // namespace rmq::mpi::coll
