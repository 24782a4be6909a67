// SPDX-License-Identifier: BSD-3-Clause
// The dispatch loop: each turn asks the methods for what has arrived, and they call the handler of each packet's kind,
// which the part that has its protocol has set. Waiting, testing and probing are turns of it; the agent turns it while
// the program computes (serve.cpp).
#pragma once

#include <cstdint>

#include "adi/sleep.hpp"

namespace rmq::adi {

/// What a probe tells.
struct Envelope {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
};

class Progress : public Sleep {
 public:
  /// One turn of the dispatch loop. With `blocking`, an idle rank may spin, yield or sleep before the call returns; a
  /// caller loops until what it waits for has happened; `what` says what that is.
  void MPID_Poll(bool blocking, Awaited what = {});
  /// Progresses until complete. Errors are in r->status.error.
  void MPID_Wait(Request* r);
  /// One poll unless complete already; whether it is complete.
  bool MPID_Test(Request* r);
  /// What each poll does after its progress, outside of all handlers, until it is set anew; nullptr: nothing. It may
  /// start sends and receives, but not poll.
  void after_progress(void (*errand)()) { errand_ = errand; }

  // ---- probes: probe.cpp ----
  /// Whether a message for this pattern is here, without receiving it. Polls once when not.
  bool MPID_Iprobe(const Match& pattern, Envelope& envelope);
  /// Waits for one. False: none is here, and `peer`, the rank that it must come from, is lost (kNoRank: any may send
  /// it), or the context revoked.
  bool MPID_Probe(const Match& pattern, Rank peer, Envelope& envelope);
  /// Takes the message out of the queue: nullptr when there is none. The caller owns the message until MPID_Imrecv.
  Request* MPID_Improbe(const Match& pattern, Envelope& envelope);
  /// The same, waiting as MPID_Probe does: nullptr when that is in vain.
  Request* MPID_Mprobe(const Match& pattern, Rank peer, Envelope& envelope);
  /// Receives a message from MPID_Improbe into `r` (view filled in); consumes `message`.
  void MPID_Imrecv(Request* r, Request* message);

  // ---- the agent: serve.cpp ----
  /// The life of an agent, a thread that handles what arrives while no other one polls. Returns soon after `stop` is
  /// set and rouse_agent called, both inside of one Entry. Not inside an Entry; threads are enabled.
  void serve(const Atomic<bool>& stop);

 protected:
  Progress(DeviceOptions& options, Bootstrap& bootstrap);

  /// Whether nothing waits to be sent any more.
  bool all_sent() const;

 private:
  int progress();
  int drain_queues();
  int drain(Channel& c);
  static void on_room(void* device, Rank rank);
  bool serve_while_busy(std::uint64_t linger_ns);

  std::uint64_t busy_until_ = 0;     // turn until which the secondary methods are polled each time
  void (*errand_)() = nullptr;       // rarely set: see after_progress()
  Atomic<std::uint32_t> visits_{0};  // polls by the program, while there is an agent
};

}  // namespace rmq::adi
