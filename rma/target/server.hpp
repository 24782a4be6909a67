// SPDX-License-Identifier: BSD-3-Clause
// The target's side of a window: packets from origins, in order. A packet that has to wait, for the lock or for a
// datatype, is kept with its payload, and so is everything behind it from the same origin on the same window. An origin
// with the lock asked for sends nothing more before the answer, so what is kept is one short operation an origin, or
// what was on its way when a datatype had been forgotten.
//
// Answers that an origin does not take wait here: when they fill more than so much (DomainCore::is_behind), what it
// sends that wants another one is kept as well, until some have left.
//
// Owns the origins. Called by Domain, with packets and when there is reason to go on; Executor does what the packets
// ask for. Nothing that arrives is trusted: an origin that sends a packet which no origin of ours would send is
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "methods/method.hpp"
#include "rma/core/window_core.hpp"
#include "rma/origin/sender.hpp"
#include "rma/target/executor.hpp"
#include "rma/target/lock.hpp"
#include "rma/target/origin.hpp"

namespace rmq::rma {

class Server {
 public:
  Server(WindowCore& core, Sender& sender, Lock& lock)
      : core_(core), sender_(sender), lock_(lock), executor_(core, lock), origin_of_(core.size()) {}

  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // ---- packets ----
  void arrive(int from, const Packet& p, const std::byte* payload);
  /// Whether a put whose payload is still in the transport may land in the window at once; where.
  bool land(int from, const Packet& p, methods::Landing& landing);
  void landed(int from, const Packet& p) { executor_.landed(origin(from), p); }

  // ---- to go on with what was kept ----
  /// The datatype has been defined again.
  void retry_type(int from, std::uint32_t id);
  /// The origin has taken its answers.
  void resume(Origin& o);
  /// Those whose turn it is in the queue of the lock; how many.
  int serve_locks();
  /// After a release by this rank's own calls: the program may compute from now on, and nobody wakes the agent for it.
  void serve_released() {
    if (lock_.has_waiting()) serve_locks();
  }

  void peer_lost(int rank);
  /// Of Origin::watch().
  static void on_answer_left(Request* answer);
  /// The origin, if it has sent anything yet.
  const Origin* find(int rank) const { return origin_of_[rank]; }
  /// All that have sent anything yet.
  const std::vector<std::unique_ptr<Origin>>& origins() const { return origins_; }

 private:
  Origin& origin(int rank);
  bool process(Origin& o, const Packet& p, const std::byte* payload, bool locked);
  void hold(Origin& o, const Packet& p, const std::byte* payload);
  void run(Origin& o, bool locked);
  void resume_later(Origin& o);
  bool take_lock(Origin& o, const Packet& p);
  void answer_lock(const Origin& o, Fault fault, Rank culprit);
  void refuse_lock(Origin& o, Rank culprit);

  WindowCore& core_;
  Sender& sender_;  // goes on when a signal has come
  Lock& lock_;
  Executor executor_;
  std::vector<std::unique_ptr<Origin>> origins_;  // made when needed
  os::Zeros<Origin*> origin_of_;                  // by place
};

}  // namespace rmq::rma
