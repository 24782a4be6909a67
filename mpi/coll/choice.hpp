// The terms of a communicator: what the choice of algorithms (rules.hpp) looks at besides a call's arguments and the
// number of ranks. The choice must come out alike on every rank, so all go by what rank 0 of the job has settled.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/bootstrap.hpp"
#include "mpi/coll/guests.hpp"
#include "mpi/coll/rules.hpp"

namespace rmq::adi {
class Device;
}

namespace rmq::mpi::coll {

/// What the choice looks at besides arguments and number of ranks: the same on all members of a communicator.
class Terms {
 public:
  Terms() = default;
  Terms(Choice choice, bool crowded) : choice_(std::move(choice)), crowded_(crowded) {}
  /// The terms that rank 0 settles: to be asked for.
  explicit Terms(Bootstrap& from) : from_(&from) {}

  bool known() const { return !from_; }
  /// Asks the connection server for them, without waiting for the answer; whether they are known now. To be asked again
  /// until then.
  Result<bool> ask() const;
  /// Asks until they are known, and polls the device meanwhile, also in a task. Throws a Failure when the job ends
  /// meanwhile.
  void await(adi::Device& device) const;

  // Once they are known.
  const Choice& choice() const { return choice_; }
  /// Whether ranks outnumber CPUs.
  bool crowded() const { return crowded_; }

  Lent& lent() const { return lent_; }

 private:
  mutable Bootstrap* from_ = nullptr;  // until they are known
  mutable Choice choice_;
  mutable bool crowded_ = false;
  mutable Lent lent_;
};

/// The terms of all communicators of the job: what rank 0 brings, RMQ_COLL and Device::crowded(). Once on every rank;
/// costs no round trip. Errc::config for a word of this rank's RMQ_COLL that names nothing, or an algorithm that the
/// collective has not.
Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, bool crowded);

/// Branches of a tree where context switches count more than messages (choice.def).
inline constexpr int kFlatRanks = 64;

}  // namespace rmq::mpi::coll
