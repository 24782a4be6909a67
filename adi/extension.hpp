// SPDX-License-Identifier: BSD-3-Clause
// A floor above the device that has packets of its own (rma/): how the device calls it.
//
// Every call comes with the device held, from inside a poll (or the end of the device). No exception leaves an
// extension.
#pragma once

#include "base/packet/packet.hpp"
#include "base/record/report_text.hpp"
#include "methods/method.hpp"

namespace rmq::adi {

class Extension {
 public:
  virtual ~Extension() = default;

  /// A packet of one of its kinds; the payload is valid only during the call.
  virtual void on_packet(Rank from, const Packet& packet, const std::byte* payload) = 0;
  /// A packet whose payload is not at hand yet: where shall it go? Landing::owner comes back with on_landed; the device
  /// does not look at it.
  virtual methods::Landing on_arriving(Rank from, const Packet& packet) = 0;
  /// The payload is there, or (with an error) never will be.
  virtual void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) = 0;
  /// The rank is lost; every owner of packets to it has been told before.
  virtual void on_peer_lost(Rank rank) = 0;
  /// The rank is lost, and its process has ended for certain: nobody hears of it any more. Behind on_peer_lost, at once
  /// or later.
  virtual void on_peer_dead(Rank rank) { static_cast<void>(rank); }

  /// Called in each turn of the dispatch loop while want_turns(true) holds. Returns how many things happened.
  virtual int advance() = 0;
  /// The rank is about to sleep and has announced it: false when there is something to do after all.
  virtual bool may_sleep() = 0;

  /// Adds objects to a list of windows, for a report. Allocates nothing.
  virtual void tell(ReportText& to) const { static_cast<void>(to); }
};

}  // namespace rmq::adi
