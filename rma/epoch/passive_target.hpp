// SPDX-License-Identifier: BSD-3-Clause
// Passive target: the epochs that only the origin takes part in: lock, unlock, flush. Called by Window for the program.
//
// A target that is reached directly is locked by Lock; operations on it are complete when their calls return. Any other
// is locked by its channel, when an operation needs it, and completed by Sender. What is locked is WindowCore's.
#pragma once

#include "rma/core/fault.hpp"
#include "rma/core/options.hpp"
#include "rma/core/window_core.hpp"
#include "rma/origin/sender.hpp"
#include "rma/target/lock.hpp"
#include "rma/target/server.hpp"

namespace rmq::rma {

class PassiveTarget {
 public:
  PassiveTarget(WindowCore& core, Sender& sender, Lock& lock, Server& server)
      : core_(core), sender_(sender), lock_(lock), server_(server) {}

  // As in Window.
  Fault lock(LockType type, int target, unsigned assertions);
  Fault unlock(int target);
  Fault lock_all(unsigned assertions);
  Fault unlock_all();
  /// The first operation on that target under lock_all. *Waits* for the lock of one that is reached directly.
  Fault admit(int target);
  /// The program may reach memory by its address: what is open by lock_all is locked, and will be at once.
  Fault reach_by_address();
  Fault flush(int target);
  Fault flush_all();
  Fault flush_local(int target);
  Fault flush_local_all();
  Fault sync();

 private:
  Fault admit_all();
  Fault take(LockType type, int target, Reach& t);
  bool is_locked(const Reach& t) const { return (t.access & access::lock) != 0 || core_.lock_all; }

  WindowCore& core_;
  Sender& sender_;
  Lock& lock_;
  Server& server_;
};

}  // namespace rmq::rma
