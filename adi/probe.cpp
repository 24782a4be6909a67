// SPDX-License-Identifier: BSD-3-Clause
// Probes, with and without taking the message out of the queue.
#include "adi/progress.hpp"

namespace rmq::adi {
namespace {

Envelope envelope_of(const Request& message) {
  Envelope e{message.match.source, message.match.tag, message.owned_bytes};
  if (message.packet.kind == Kind::REQUEST_SEND) e.bytes = message.packet.request_send.size;
  if (const Request* const send = message.unexpected.self_send) e.bytes = send->view.bytes;
  return e;
}

}  // namespace

void tell_awaited_probe(const void* pattern, ReportText& to) {
  const auto& m = *static_cast<const Match*>(pattern);
  to.begin_object();
  to.field("kind", "probe");
  to.field("context", m.context);
  to.field("source", m.source);
  to.field("tag", m.tag);
  to.end_object();
}

bool Progress::MPID_Iprobe(const Match& pattern, Envelope& envelope) {
  Request* message = match_.find(pattern);
  if (!message) {
    MPID_Poll(false, awaited(pattern));
    message = match_.find(pattern);
  }
  if (!message) return false;
  envelope = envelope_of(*message);
  return true;
}

bool Progress::MPID_Probe(const Match& pattern, Rank peer, Envelope& envelope) {
  Request* message;
  while (!(message = match_.find(pattern))) {
    if ((peer != kNoRank && channels_[peer].lost) || is_revoked(pattern.context)) return false;
    MPID_Poll(true, awaited(pattern));
  }
  envelope = envelope_of(*message);
  return true;
}

Request* Progress::MPID_Improbe(const Match& pattern, Envelope& envelope) {
  Request* message = match_.find(pattern);
  if (!message) {
    MPID_Poll(false, awaited(pattern));
    message = match_.find(pattern);
  }
  if (!message) return nullptr;
  envelope = envelope_of(*message);
  match_.take(message);
  return message;
}

Request* Progress::MPID_Mprobe(const Match& pattern, Rank peer, Envelope& envelope) {
  if (!MPID_Probe(pattern, peer, envelope)) return nullptr;
  Request* message = match_.find(pattern);
  match_.take(message);
  return message;
}

void Progress::MPID_Imrecv(Request* r, Request* message) {
  r->incomplete.store(1, std::memory_order_relaxed);  // not yet visible to others
  r->go(Step::landing);
  receive_kept(r, message);
}

}  // namespace rmq::adi
