// Probes, with and without taking the message out of the queue.
#include "adi/device.hpp"

namespace rmq::adi {
namespace {

Envelope envelope_of(const Request& message) {
  Envelope e{message.match.source, message.match.tag, message.owned_bytes};
  if (message.packet.kind == Kind::REQUEST_SEND) e.bytes = message.packet.request_send.size;
  if (message.user) e.bytes = static_cast<const Request*>(message.user)->view.bytes;  // a long self-send
  return e;
}

}  // namespace

bool Device::MPID_Iprobe(const Match& pattern, Envelope& envelope) {
  Request* message = match_.find(pattern);
  if (!message) {
    MPID_Poll(false);
    message = match_.find(pattern);
  }
  if (!message) return false;
  envelope = envelope_of(*message);
  return true;
}

void Device::MPID_Probe(const Match& pattern, Envelope& envelope) {
  Request* message;
  while (!(message = match_.find(pattern))) MPID_Poll(true);
  envelope = envelope_of(*message);
}

Request* Device::MPID_Improbe(const Match& pattern, Envelope& envelope) {
  Request* message = match_.find(pattern);
  if (!message) {
    MPID_Poll(false);
    message = match_.find(pattern);
  }
  if (!message) return nullptr;
  envelope = envelope_of(*message);
  match_.take(message);
  return message;
}

Request* Device::MPID_Mprobe(const Match& pattern, Envelope& envelope) {
  Request* message;
  while (!(message = MPID_Improbe(pattern, envelope))) MPID_Poll(true);
  return message;
}

void Device::MPID_Imrecv(Request* r, Request* message) {
  r->incomplete.store(1, std::memory_order_relaxed);  // not yet visible to others
  r->flags |= request_flag::matched;
  receive_kept(r, message);
}

}  // namespace rmq::adi
