// What happens to data at its destination: the seeds' operations *copy*, *cat* and *join*.
//
// place() decides where the bytes of one message belong and notes source, tag and truncation in the receive; put_down()
// puts them there. Between the two, data may still be in the transport (on_arriving … on_landed): it then lands in the
// user's buffer directly, or, for join, in a staging request that is put down when it is complete.
#include <algorithm>
#include <cstdlib>

#include "adi/device.hpp"

namespace rmq::adi {

Request* Device::stage(Request* recv, const Match& from, std::uint64_t bytes) {
  const Place to = place(recv, from, bytes);
  Request* s = pool_.get();
  s->kind = RequestKind::recv;
  s->flags = request_flag::staged;
  s->go(Step::landing);
  s->match = from;
  s->owned = static_cast<std::byte*>(std::malloc(std::max<std::uint64_t>(to.bytes, 1)));
  RMQ_CHECK(s->owned != nullptr);
  s->owned_bytes = to.bytes;
  s->view = DataView::contiguous(s->owned, to.bytes);
  s->staging = {recv, to.offset};
  s->incomplete.store(1, std::memory_order_relaxed);  // known to this thread only
  return s;
}

void Device::staged_complete(Request* s) {
  Request* const recv = s->staging.whole;
  const Errc error = s->status.error;
  const Rank sender = s->peer;
  if (error == Errc::ok) put_down(recv, Place{s->staging.offset, s->owned_bytes}, s->owned);
  pool_.put(s);
  if (error != Errc::ok) note_failed(recv, error, sender);
  finish(recv);
}

methods::Landing Device::on_arriving(void* device, Rank from, const Packet& p) {
  auto& d = *static_cast<Device*>(device);
  switch (p.kind) {
    case Kind::SHORT:
    case Kind::SHORT_SYNC: {
      Channel& c = d.received(from, p);
      if (!d.may_come(c, p)) return {};
      const Match m{p.context, p.source, p.tag};
      Request* recv = d.match_.match_arrival(m);
      if (!recv) {
        if (!d.may_be_kept(c, p, p.length)) return {};
        Request* message = d.keep(c, p, m, p.length, Step::arriving);
        return {DataView::contiguous(message->owned, p.length), 0, p.length, message};
      }
      d.accept_short(c, p);
      if (recv->dest_op == DestOp::join) {
        Request* s = d.stage(recv, m, p.length);
        s->peer = from;
        return {s->view, 0, s->view.bytes, s};
      }
      const Place to = d.place(recv, m, p.length);
      if (recv->dest_op == DestOp::copy) recv->peer = from;
      return {recv->view, to.offset, to.bytes, recv};
    }
    case Kind::RNDV_DATA: {
      d.received(from, p);
      Request* recv = d.rendezvous_receiver(from, p);
      if (!recv) return {};
      return {recv->view, p.rndv_data.offset, p.length, recv};
    }
    default:
      if (Extension* e = d.extension_of_[static_cast<std::size_t>(p.kind)]) {
        return d.received(from, p).dropped ? methods::Landing{} : e->on_arriving(from, p);
      }
      on_unknown(device, from, p, nullptr);
      return {};
  }
}

void Device::on_landed(void* device, Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  auto& d = *static_cast<Device*>(device);
  if (Extension* e = d.extension_of_[static_cast<std::size_t>(p.kind)]) return e->on_landed(from, p, landing, error);
  Request* owner = landing.owner;
  if (!owner) return;  // dropped
  if (p.kind == Kind::RNDV_DATA) {
    if (error != Errc::ok) return d.complete(owner, error);
    return d.data_arrived(owner, p.length);
  }
  if (error != Errc::ok) d.note_failed(owner, error, from);
  if (owner->kind != RequestKind::message) return d.finish(owner);
  Request* const recv = owner->unexpected.taker;
  if (!recv) {
    owner->go(Step::kept);
    if (d.is_revoked(owner->match.context)) d.forget_kept(owner);  // while it landed
    return;
  }
  if (error == Errc::ok) {
    d.deliver(recv, owner->match, owner->owned, owner->owned_bytes);
  } else {
    d.fail_part(recv, error, from);
  }
  d.pool_.put(owner);
}

}  // namespace rmq::adi
