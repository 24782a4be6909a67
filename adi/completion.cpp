// SPDX-License-Identifier: BSD-3-Clause
#include "adi/completion.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rmq::adi {

void Completion::MPID_Request_free(Request* r) {
  if (r->complete()) {
    pool_.put(r);
  } else {
    r->flags |= request_flag::detached;
  }
}

void Completion::completed(Request* r) {
  trace_.event(Event::complete, 0, r->peer, r->self.wire(), r->status.bytes);
  if (r->flags & request_flag::staged) return staged_complete(r);
  const bool detached = r->flags & request_flag::detached;
  auto* notify = r->on_complete;
  r->incomplete.store(0, std::memory_order_release);  // pairs with Request::complete()
  if (notify) notify(r);
  if (detached) pool_.put(r);
}

void Completion::complete(Request* r, Errc error) {
  if (error != Errc::ok) note_failed(r, error, r->peer);
  completed(r);
}

void Completion::note_failed(Request* r, Errc error, Rank other) {
  if (error == Errc::peer_lost && other != kNoRank) error = loss(other);
  r->status.error = error;
  if ((error != Errc::peer_lost && error != Errc::no_memory) || !minds_ || (r->flags & request_flag::staged) != 0)
    return;
  if ((r->kind != RequestKind::send && r->kind != RequestKind::recv) || !minds_(*r)) return;
  failures_.push_back(other);
  // A method ends what it has in hand before it reports the loss, and why: on_peer_lost() tells of those.
  if (other != kNoRank && channels_[other].lost) tell_failures(other);
}

// A peer that has left in order is not lost: its messages' calls tell.
void Completion::tell_failures(Rank lost) {
  for (const Rank one : std::exchange(failures_, {})) {
    const Rank peer = one == kNoRank ? lost : one;
    if (channels_[peer].lost) {
      on_lost_(*this, peer);
    } else {
      failures_.push_back(peer);
    }
  }
}

Request* Completion::stage(Request* recv, const Match& from, std::uint64_t bytes) {
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

void Completion::staged_complete(Request* s) {
  Request* const recv = s->staging.whole;
  const Errc error = s->status.error;
  const Rank sender = s->peer;
  if (error == Errc::ok) put_down(recv, Place{s->staging.offset, s->owned_bytes}, s->owned);
  pool_.put(s);
  if (error != Errc::ok) note_failed(recv, error, sender);
  finish(recv);
}

void Completion::give_up(Request* recv, Errc error) {
  withdraw(recv);
  recv->go(Step::landing);
  for (std::uint32_t missing = recv->parts; missing > 0; --missing) fail_part(recv, error, kNoRank);
}

}  // namespace rmq::adi
