// SPDX-License-Identifier: BSD-3-Clause
#include "adi/cancel.hpp"

namespace rmq::adi {

Cancel::Cancel(DeviceOptions& options, Bootstrap& bootstrap) : Eager(options, bootstrap) {
  handle(Kind::ANTI_SEND, &on_anti_send);
  handle(Kind::ANTI_SEND_OK, &on_anti_send_ok);
}

void Cancel::MPID_Cancel(Request* r) {
  if (r->kind == RequestKind::recv) {
    if (r->complete() || r->matched()) return;
    withdraw(r);
    r->status.cancelled = true;
    return complete(r, Errc::ok);
  }
  if (r->kind != RequestKind::send || r->matched() || (r->flags & request_flag::cancelling)) return;
  if (r->status.cancelled) return;
  if (r->peer == rank_) return cancel_send_to_self(r);
  Channel& c = channels_[r->peer];
  if (c.lost) return;
  if (r->step == Step::queued) {
    RMQ_CHECK(c.messages.remove(r));
    r->go(Step::idle);
    r->status.cancelled = true;
    return complete(r, Errc::ok);
  }
  r->flags |= request_flag::cancelling;
  // Relaxed: only the lock's holder writes, and the caller, who alone waits for this request, is here.
  r->incomplete.store(r->incomplete.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Packet anti(Kind::ANTI_SEND);
  set_match(anti, r->match);
  anti.msg = r->packet.msg;
  anti.anti_send.sender = r->self.wire();
  channels_.post(c, anti);
}

void Cancel::on_anti_send(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Cancel>(device);
  if (!d.take_control(from, p)) return;
  Request* found = nullptr;
  d.match_.for_each_exact({p.context, p.source, p.tag}, [&](Request* message) {
    if (message->peer == from && message->packet.msg == p.msg && message->step == Step::kept) found = message;
  });
  if (found) {
    d.trace_.packet(Event::taken_back, d.id_of(from), from, found->packet);
    d.match_.take(found);
    d.release_kept(found);
    d.pool_.put(found);
  }
  Packet answer(Kind::ANTI_SEND_OK);
  answer.context = p.context;
  answer.msg = p.msg;
  answer.anti_send_ok.sender = p.anti_send.sender;
  answer.anti_send_ok.cancelled = found ? 1 : 0;
  d.channels_.post(d.channels_[from], answer);
}

void Cancel::on_anti_send_ok(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Cancel>(device);
  if (!d.take_control(from, p)) return;
  Request* r = d.pool_.find(Handle::from_wire(p.anti_send_ok.sender));
  if (!r || r->kind != RequestKind::send || r->peer != from || r->complete() ||
      !(r->flags & request_flag::cancelling)) {
    return d.protocol_error(from, p, "no send is being cancelled that it could answer");
  }
  if (p.anti_send_ok.cancelled && r->matched()) {
    return d.protocol_error(from, p, "it takes back a message that has been matched");
  }
  r->flags &= static_cast<std::uint8_t>(~request_flag::cancelling);  // one answer
  if (p.anti_send_ok.cancelled) {
    r->status.cancelled = true;
    // No receive will answer any more. But the method may still have the data: on_sent ends that.
    if (r->step != Step::sent) {
      r->go(Step::sent);
      d.finish(r);
    }
  }
  d.finish(r);
}

}  // namespace rmq::adi
