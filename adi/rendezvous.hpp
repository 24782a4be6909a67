// SPDX-License-Identifier: BSD-3-Clause
// The rendezvous protocol: a long message is announced, and its data moves by remote memory operations once it is
// matched.
//
//   origin                                    target
//   try_request_send --- REQUEST_SEND ----->  on_request_send: match, or keep the envelope
//
//   get mode (the envelope carries an address that the target can read):
//                                             fetch_or_ask: Method::get, straight into the user's buffer
//   on_rndv_done     <-- RNDV_DONE ---------
//
//   put mode (the answer carries an address that the origin can write):
//   on_ok_to_send    <-- OK_TO_SEND --------  fetch_or_ask
//   Method::put      --- RNDV_DONE -------->  on_rndv_done
//
//   where there is no remote memory (tcp), or packets are faster (shared memory, when both ranks wait and can copy at
//   the same time), put is packets again:
//   on_ok_to_send    <-- OK_TO_SEND --------  fetch_or_ask
//   push_data        --- RNDV_DATA … ------>  on_rndv_data, or straight from the transport into the user's buffer
#pragma once

#include <algorithm>
#include <vector>

#include "adi/self.hpp"

namespace rmq::adi {

class Rendezvous : public Self {
 protected:
  Rendezvous(DeviceOptions& options, Bootstrap& bootstrap);

  /// Announces a message, for credit of this much; 0: as an envelope beyond the credit.
  methods::Outcome try_request_send(Request* r, Channel& c, std::int64_t cost);
  /// A receive has taken a message that this packet announced.
  void answer_request_send(Request* recv, Rank from, const Packet& p);
  /// Data that is not at hand yet: where it shall go; and it has come.
  methods::Landing data_arriving(Rank from, const Packet& p);
  void data_landed(Request* recv, const Packet& p, Errc error);

  /// Gets and puts that a method has told to try again: whether there are any; tries them, and how many went on; ends
  /// the waiting of those with a rank that is lost.
  bool has_waiting_moves() const { return !waiting_moves_.empty(); }
  int retry_moves();
  void drop_waiting_moves(Rank lost) {
    std::erase_if(waiting_moves_, [&](const Request* r) { return r->peer == lost; });
  }
  /// Sends fragments of the data that waits in a channel, in turns, as far as the link takes them; how many.
  int push_some(Channel& c);

 private:
  static void on_request_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_ok_to_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_rndv_data(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_rndv_done(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_sent(void* device, Request* owner, Errc error);
  static void on_moved(void* device, Request* owner, std::uint64_t bytes, Errc error);
  void fetch_or_ask(Request* recv);
  void ask(Request* recv, std::uint64_t address);
  void put_or_push(Request* send);
  void moved(Request* r, std::uint64_t bytes);
  void note_pulled(const Request* r, methods::Pull how);
  void push_data(Request* send);
  methods::Outcome push_fragment(Request* send, Channel& c);
  void data_arrived(Request* recv, std::uint64_t bytes);
  Request* rendezvous_receiver(Rank from, const Packet& p);

  std::vector<Request*> waiting_moves_;  // receives whose get(), and sends whose put(), said retry
};

}  // namespace rmq::adi
