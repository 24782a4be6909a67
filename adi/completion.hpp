// SPDX-License-Identifier: BSD-3-Clause
// How requests end, and where data goes at its destination: the operations *copy*, *cat* and *join* of DestOp.
//
// A request counts what is still to happen to it; finish() takes one off, and the last one completes it. place()
// decides where the bytes of one message belong and notes source, tag and truncation in the receive; put_down() puts
// them there. Between the two, data may still be in the transport: it then lands in the user's buffer directly, or, for
// join, in a staging request that is put down when it is complete.
#pragma once

#include <algorithm>
#include <vector>

#include "adi/core.hpp"

namespace rmq::adi {

class Completion : public Core {
 public:
  /// Gives a request back; if it is still under way, as soon as it is complete.
  void MPID_Request_free(Request* r);
  /// One thing less has to happen to a request of kind `other`, of which the caller has counted `incomplete`.
  void finish_one(Request* r, Errc error) {
    if (error != Errc::ok) r->status.error = error;
    finish(r);
  }

 protected:
  Completion(DeviceOptions& options, Bootstrap& bootstrap)
      : Core(options, bootstrap), minds_(options.minds), on_lost_(options.on_lost) {}

  static constexpr std::uint8_t kNeedsCare = request_flag::detached | request_flag::staged;
  /// One thing less to happen; at zero the request is complete and may be gone.
  void finish(Request* r) {
    const std::int32_t left = r->incomplete.load(std::memory_order_relaxed) - 1;  // only the lock's holder writes
    if (left == 0 && (r->on_complete || (r->flags & kNeedsCare) || trace_.full())) [[unlikely]]
      return completed(r);
    r->incomplete.store(left, std::memory_order_release);  // pairs with Request::complete()
  }
  /// Completes it now, whatever is outstanding.
  void complete(Request* r, Errc error);
  /// Gives it its error, for whoever ends it then. `other`: whose message it was; kNoRank: of whoever is lost next.
  void note_failed(Request* r, Errc error, Rank other);
  /// Tells the owner of the device of all messages that have failed by the loss of a rank. `lost`: whom those miss that
  /// wait for anybody.
  void tell_failures(Rank lost);

  struct Place {
    std::uint64_t offset, bytes;  // where in the receive's view, and how much of the message
  };
  static Place place(Request* recv, const Match& from, std::uint64_t bytes) {
    recv->status.source = from.source;
    recv->status.tag = from.tag;
    const std::uint64_t at = recv->dest_op == DestOp::cat ? recv->appended.bytes : 0;
    const std::uint64_t room = recv->view.bytes - at;
    if (bytes > room) [[unlikely]] {
      recv->status.error = Errc::truncate;
      bytes = room;
    }
    if (recv->dest_op == DestOp::cat) [[unlikely]]
      recv->appended.bytes += bytes;
    recv->status.bytes = recv->dest_op == DestOp::join ? std::min(recv->status.bytes, bytes) : at + bytes;
    return {at, bytes};
  }
  static void put_down(Request* recv, const Place& to, const std::byte* data) {
    if (to.bytes == 0) return;
    if (recv->dest_op != DestOp::join) [[likely]]
      unpack(recv->view, to.offset, data, to.bytes);
    else
      reduce(recv->join_op, recv->join_type, data, recv->view.base, to.bytes / basic_size(recv->join_type));
  }
  void deliver(Request* recv, const Match& from, const std::byte* data, std::uint64_t bytes) {
    put_down(recv, place(recv, from, bytes), data);
    finish(recv);
  }
  /// A request of the device's own that takes one message of this receive, to be put down when it is complete.
  Request* stage(Request* recv, const Match& from, std::uint64_t bytes);

  /// Takes a posted receive out of its queue.
  void withdraw(Request* recv) {
    trace_.event(Event::withdrawn, 0, recv->peer, recv->match.context, static_cast<std::uint32_t>(recv->match.tag));
    match_.withdraw(recv);
  }
  /// One message of a receive will never be whole; others may still land there.
  void fail_part(Request* recv, Errc error, Rank sender) {
    note_failed(recv, error, sender);
    finish(recv);
  }
  /// Ends a posted receive with this error; what has met its message already ends by itself.
  void give_up(Request* recv, Errc error);

 private:
  void completed(Request* r);
  void staged_complete(Request* s);

  bool (*const minds_)(const Request& message);
  void (*const on_lost_)(Core& device, Rank peer);
  std::vector<Rank> failures_;  // whose messages have failed: not yet told to on_lost_; kNoRank: anybody's
};

}  // namespace rmq::adi
