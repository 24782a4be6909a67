// How requests end: when the last of their owners is done, or when the rank that they need is lost.
#include <algorithm>
#include <utility>

#include "adi/device.hpp"

namespace rmq::adi {

void Device::MPID_Request_free(Request* r) {
  if (r->complete()) {
    pool_.put(r);
  } else {
    r->flags |= request_flag::detached;
  }
}

void Device::completed(Request* r) {
  trace_.event(Event::complete, 0, r->peer, r->self.wire(), r->status.bytes);
  if (r->flags & request_flag::staged) return staged_complete(r);
  const bool detached = r->flags & request_flag::detached;
  auto* notify = r->on_complete;
  r->incomplete.store(0, std::memory_order_release);  // pairs with Request::complete()
  if (notify) notify(r);
  if (detached) pool_.put(r);
}

void Device::complete(Request* r, Errc error) {
  if (error != Errc::ok) note_failed(r, error, r->peer);
  completed(r);
}

void Device::note_failed(Request* r, Errc error, Rank other) {
  if (error == Errc::peer_lost && other != kNoRank) error = loss(other);
  r->status.error = error;
  if ((error != Errc::peer_lost && error != Errc::no_memory) || !minds_ || (r->flags & request_flag::staged) != 0)
    return;
  if ((r->kind != RequestKind::send && r->kind != RequestKind::recv) || !minds_(*r)) return;
  failures_.push_back(other);
  // A method ends what it has in hand before it reports the loss, and why: on_peer_lost() tells of those.
  if (other != kNoRank && channels_[other].lost) tell_failures(other);
}

// `lost`: whom those miss that wait for anybody. A peer that has left in order is not lost: its messages' calls tell.
void Device::tell_failures(Rank lost) {
  for (const Rank one : std::exchange(failures_, {})) {
    const Rank peer = one == kNoRank ? lost : one;
    if (channels_[peer].lost) {
      on_lost_(*this, peer);
    } else {
      failures_.push_back(peer);
    }
  }
}

void Device::on_sent(void* device, Request* owner, Errc error) {
  auto& d = *static_cast<Device*>(device);
  if (owner->kind == RequestKind::other) return d.sent(owner, error);  // one of perhaps several packets of its own
  if (error != Errc::ok) return d.complete(owner, error);
  if (owner->step == Step::pushing && owner->transfer.moved < owner->transfer.bytes) return d.push_data(owner);
  d.finish(owner);
}

void Device::on_peer_lost(void* device, Rank rank, const Error& error) {
  auto& d = *static_cast<Device*>(device);
  Channel& c = d.channels_[rank];
  if (c.lost) return;
  c.lost = d.any_lost_ = true;
  d.set_careful(true);
  d.gate_.distrust();
  c.error = error;
  d.note_unanswered();
  d.trace_.event(Event::link_down, c.method_number(), rank);
  d.channels_.lose(c);
  d.fail_requests_of(rank);
  for (Extension* e : d.extensions_) e->on_peer_lost(rank);
  d.note_loss(rank);
  d.tell_failures(rank);
}

void Device::fail_requests_of(Rank rank) {
  std::erase_if(waiting_gets_, [&](Request* r) { return r->peer == rank; });
  // Parts of receives first: each ends its own share of the receive, which may still be waited for by others.
  for (const std::uint8_t staged : {request_flag::staged, std::uint8_t{0}}) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      Request* r = pool_.at(i);
      if (!(r->self.generation & 1) || r->peer != rank || r->complete()) continue;
      if ((r->flags & request_flag::staged) != staged) continue;
      if (r->step == Step::posted) withdraw(r);
      if (r->kind == RequestKind::recv || r->kind == RequestKind::send) complete(r, Errc::peer_lost);
    }
  }
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* r = pool_.at(i);
    if (!(r->self.generation & 1) || !(r->flags & request_flag::grouped) || r->step != Step::posted) continue;
    if (!r->complete() && std::ranges::find(*r->group, rank) != r->group->end()) fail_grouped(r);
  }
}

// What has met its message already ends by itself.
void Device::fail_grouped(Request* recv) {
  withdraw(recv);
  recv->go(Step::landing);
  for (std::uint32_t missing = recv->parts; missing > 0; --missing) fail_part(recv, Errc::peer_lost, kNoRank);
}

}  // namespace rmq::adi
