// SPDX-License-Identifier: BSD-3-Clause
#include "adi/self.hpp"

#include <algorithm>

namespace rmq::adi {
namespace {

// Larger messages to oneself are not buffered, unless RMQ_EAGER_MAX says otherwise: a blocking send of them needs a
// posted receive, as between ranks.
constexpr std::uint64_t kSelfEagerMax = 64 * 1024;

}  // namespace

void Self::copy_self(Request* recv, const Match& m, const DataView& data) {
  if (recv->dest_op == DestOp::copy) {
    const Place to = place(recv, m, data.bytes);
    copy(recv->view, to.offset, data, 0, to.bytes);
    return finish(recv);
  }
  Request* s = stage(recv, m, data.bytes);
  pack(s->owned, data, 0, s->owned_bytes);
  finish(s);
}

void Self::send_to_self(Request* r) {
  Channel& self = channels_[rank_];
  r->incomplete.store(1, std::memory_order_relaxed);  // not yet visible to any other thread
  r->packet.msg = self.next_msg++;
  Packet p(Kind::SHORT);
  set_match(p, r->match);
  p.msg = r->packet.msg;
  if (Request* recv = match_.match_arrival(r->match)) {
    r->go(Step::taken);
    trace_.packet(Event::matched, id_of(rank_), rank_, p, recv->self.wire(), r->view.bytes);
    copy_self(recv, r->match, r->view);
    return finish(r);
  }
  const std::uint64_t bytes = r->view.bytes;
  const std::uint64_t most = config_.eager_max != 0 ? config_.eager_max : kSelfEagerMax;
  const bool buffer =
      r->mode != SendMode::synchronous && bytes <= most && self.held + bytes < channels_.credit_per_peer();
  p.length = static_cast<std::uint32_t>(buffer ? bytes : 0);
  Request* message = keep(channels_[rank_], p, r->match, buffer ? bytes : 0, Step::kept);
  message->status.bytes = bytes;
  if (buffer) {
    pack(message->owned, r->view, 0, bytes);
    r->go(Step::sent);
    return finish(r);
  }
  r->go(Step::announced);
  message->unexpected.self_send = r;
}

void Self::receive_from_self(Request* recv, Request* message) {
  if (Request* const send = message->unexpected.self_send) {
    send->go(Step::taken);
    copy_self(recv, message->match, send->view);
    finish(send);
  } else {
    copy_self(recv, message->match, DataView::contiguous(message->owned, message->owned_bytes));
  }
  pool_.put(message);
}

void Self::cancel_send_to_self(Request* r) {
  Request* found = nullptr;
  match_.for_each_exact(r->match, [&](Request* message) {
    if (message->peer == rank_ && message->packet.msg == r->packet.msg) found = message;
  });
  if (!found) return;
  trace_.packet(Event::taken_back, id_of(rank_), rank_, found->packet);
  match_.take(found);
  release_kept(found);
  pool_.put(found);
  r->status.cancelled = true;
  complete(r, Errc::ok);
}

}  // namespace rmq::adi
