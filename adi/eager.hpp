// SPDX-License-Identifier: BSD-3-Clause
// Sending and receiving; and the short protocol, of a message that travels whole in one packet:
//
//   origin                              target
//   try_short  --- SHORT ------------>  on_short: deliver to the posted receive, or keep it as unexpected;
//                                       short_arriving, where its data is still on the way
//   on_sync_ack <-- SYNC_ACK ---------  (SHORT_SYNC only) when a receive has taken it
//
// A message that is too long for that, or has no credit, goes by rendezvous.
#pragma once

#include "adi/rendezvous.hpp"

namespace rmq::adi {

class Eager : public Rendezvous {
 public:
  /// Starts a send: r->peer, match {context, my rank in the communicator, tag}, view, mode (and layout, kept alive).
  void MPID_Isend(Request* r);
  /// A standard-mode send of a short contiguous message that can leave at once, without a request. False: nothing
  /// happened, use MPID_Isend.
  bool send_now(Rank to, const Match& match, const void* data, std::size_t bytes);
  /// The same with a request, which is complete; only where the method takes such a message in one piece. A method that
  /// gathers messages needs their requests, and others MPID_Isend. There must be a request at hand: pool().next_free().
  Request* isend_now(Rank to, const Match& match, const void* data, std::size_t bytes);
  /// Starts a receive: r->peer (world rank, or kNoRank with kAnySource), match (with wildcards), view, dest_op and, for
  /// cat and join, parts (messages to take; complete when all have landed), join_op, join_type. From any source with
  /// request_flag::grouped: `group`, the ranks that it needs, which must live until it is complete.
  void MPID_Irecv(Request* r);

 protected:
  Eager(DeviceOptions& options, Bootstrap& bootstrap);

  /// Sends a message that waits or is new, short or by rendezvous, by its size and the credit.
  methods::Outcome send_message(Request* r, Channel& c);
  /// A receive takes a message that has been kept.
  void receive_kept(Request* recv, Request* message);
  /// A short message whose data is not at hand yet: where it shall go; and it has come, or (with an error) never will.
  methods::Landing short_arriving(Rank from, const Packet& p);
  void short_landed(Request* owner, Rank from, Errc error);

 private:
  Request* match_short(Channel& c, const Packet& p, const Match& m);
  Request* keep_short(Channel& c, const Packet& p, const Match& m, Step step);
  methods::Outcome try_short(Request* r, Channel& c, std::int64_t cost);
  bool may_leave(const Channel& c, std::size_t bytes) const;
  static Packet short_packet(const Channel& c, const Match& match, std::size_t bytes);
  static void note_left(Channel& c, std::size_t bytes);
  bool leave_at_once(Channel& c, const Match& match, const void* data, std::size_t bytes);
  bool leave_at_length(Channel& c, const Match& match, const void* data, std::size_t bytes);
  static void on_short(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_sync_ack(void* device, Rank from, const Packet& p, const std::byte* payload);
  void acknowledge_sync(Channel& from, const Packet& p);
};

}  // namespace rmq::adi
