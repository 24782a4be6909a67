// SPDX-License-Identifier: BSD-3-Clause
// The RMQ device: MPICH's abstract device interface over any mix of methods.
//
// The MPI layer makes a request, fills in peer, match, view and mode, and calls MPID_Isend or MPID_Irecv; it is
// complete when Request::complete(). Ranks here are world ranks, except match.source, which is the sender's rank in the
// communicator that match.context belongs to.
//
// Threads: a Device is used by one thread at a time. With DeviceOptions::threads each caller holds an Entry, which is a
// lock; without, an Entry costs one branch. Waiting calls give the lock away between polls.
//
// The device is a stack of parts. Each part has a header, which says what callers may ask of it, and its own state; it
// may call the parts below it, and none above. Two parts show theirs to the dispatch loop above them: Reporting the
// counter of idle tests, Sleep the two words by which the agent is woken. The parts are base classes of each other
// rather than members, so that a message passes them with one pointer in a register.
//
//   Device       life: MPID_Init to MPID_Finalize                     adi/device.hpp
//   Progress     the dispatch loop; wait, test, probe, the agent      adi/progress.hpp
//   Sleep        how a call, and the agent, falls asleep and wakes    adi/sleep.hpp
//   Reporting    what the rank tells when it is asked                 adi/reporting.hpp
//   Losses       ranks that are lost or dead, revoked contexts        adi/losses.hpp
//   Extensions   packets of the floors above                          adi/extensions.hpp
//   Memory       memory that ranks of a host reach directly           adi/memory.hpp
//   Jobs         processes of other jobs, and their numbers           adi/jobs.hpp
//   Cancel       the cancel protocol                                  adi/cancel.hpp
//   Eager        MPID_Isend, MPID_Irecv; the short protocol           adi/eager.hpp
//   Rendezvous   the protocol of long messages                        adi/rendezvous.hpp
//   Self         messages to oneself                                  adi/self.hpp
//   Arrivals     what a peer may send, and the messages that are kept adi/arrivals.hpp
//   Completion   how requests end, and where data goes                adi/completion.hpp
//   Core         the state that all of them share                     adi/core.hpp
#pragma once

#include <memory>
#include <string_view>

#include "adi/progress.hpp"

namespace rmq::adi {

class Device final : public Progress {
 public:
  /// Opens every method that is configured and needed. `bootstrap` must outlive the device.
  static Result<std::unique_ptr<Device>> MPID_Init(DeviceOptions options, Bootstrap& bootstrap);
  /// Opens the methods, unless they are open: until then there is only this rank. Waits for ranks whose memory it
  /// needs.
  Result<void> connect();
  /// After a job-wide barrier: sends what is left, says good-bye. The device stays valid for look-ups only.
  Result<void> MPID_Finalize();
  /// Ends the whole job with this exit code, when the launcher has been told and stdio's buffers are written. Does not
  /// return.
  [[noreturn]] void MPID_Abort(int code, std::string_view why, Blame blame);
  /// Says good-bye to those that are known by this party alone. All members do so at about the same time, and nothing
  /// is under way among them. Bounded in time.
  void dismiss_party(Party& party);
  /// Every event of the recorder goes to `listener` as well (nullptr: to nobody), until MPID_Finalize. With the
  /// device held; or, where other threads may not call MPI, by any of them.
  void listen(TraceListener* listener);

 private:
  Device(DeviceOptions& options, Bootstrap& bootstrap);
  Result<void> open(DeviceOptions& options);
  Result<void> open_methods();
  void start_records(DeviceOptions& options);
  void note_clock();

  bool connected_ = false;
};

}  // namespace rmq::adi
