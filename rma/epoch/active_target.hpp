// SPDX-License-Identifier: BSD-3-Clause
// Active target: the epochs that both sides take part in. Fence (fence.cpp) and post, start, complete, wait (pscw.cpp).
//
// Owns the groups and the count of barriers; what was signalled to whom is WindowCore's (rma/origin/signal.hpp). Called
// by Window for the program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rma/core/fault.hpp"
#include "rma/core/window_core.hpp"
#include "rma/origin/sender.hpp"

namespace rmq::rma {

class ActiveTarget {
 public:
  ActiveTarget(WindowCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // As in Window.
  Fault fence(unsigned assertions);
  Fault post(std::span<const int> group, unsigned assertions);
  Fault start(std::span<const int> group, unsigned assertions);
  Fault complete();
  Fault wait();
  Fault test(bool& done);

  /// The first operation on that target in an epoch: Fault::sync unless start() has named it. *Waits* for the post of
  /// one that is reached directly.
  Fault admit(int rank);

  // ---- for reports ----
  std::uint32_t barriers() const { return barriers_; }
  const std::vector<int>& access_group() const { return access_group_; }
  const std::vector<int>& exposure_group() const { return exposure_group_; }

 private:
  static bool drain(const Completion& completion);
  Fault barrier(bool told);
  bool barrier_covers() const;
  bool all_completed() const;
  /// Whether an operation that was checked here may still turn out wrong at its target: then the epoch that it belongs
  /// to waits for the target's word.
  bool targets_find_out() const { return core_.is_dynamic(); }
  bool has_ended() const;
  Fault end_exposure();

  WindowCore& core_;
  Sender& sender_;
  std::vector<int> access_group_, exposure_group_;
  std::uint32_t barriers_ = 0;  // begun so far
};

}  // namespace rmq::rma
