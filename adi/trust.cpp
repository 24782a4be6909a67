// What a peer may do. The handshake has proved that it belongs to the job, not that its memory is sound or that it runs
// the same code: so each packet is held against what this rank knows (base/packet/protocol.def says what may follow
// what), and a peer that sends one which no rank of ours could send is dropped. Requests that wait for it end with
// peer_lost, and the error handlers decide whether the job does.
#include <fmt/format.h>

#include "adi/device.hpp"

namespace rmq::adi {

void Device::protocol_error(Rank from, const Packet& p, const char* why) {
  stray_packet(from, p);
  channels_[from].dropped = true;
  channels_[from].method->drop(
      from, {Errc::protocol, fmt::format("rank {} breaks the protocol and is given up: {} (packet {} of its link): {}",
                                         from, packet_name(p.kind), p.link, why)});
}

void Device::stray_packet(Rank from, const Packet& p) {
  ++counters_.protocol_errors;
  trace_.packet(Event::protocol_error, id_of(from), from, p);
}

void Device::on_unknown(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = *static_cast<Device*>(device);
  // A floor above that has closed already may still be sent to by a rank that has not.
  if (static_cast<unsigned>(p.kind) >= kFirstOfFloors && find_packet_kind(p.kind)) return d.stray_packet(from, p);
  d.protocol_error(from, p, "no packet of this kind belongs here");
}

void Device::refuse(Rank from, const Packet& p) {
  // What it sends behind the packet that was refused must not take the refused one's place.
  if (channels_[from].dropped) return;
  const char* why = "only bare envelopes may go beyond the credit";
  if (!is_rank(p.source))
    why = "its source is no rank";
  else if (p.kind == Kind::REQUEST_SEND)
    why = "it has a payload";
  protocol_error(from, p, why);
}

bool Device::may_be_kept(const Channel& from, const Packet& p, std::uint64_t data_bytes) {
  if (p.flags & packet_flag::envelope) return true;  // counted by envelopes_out
  if (channels_.may_hold(from, data_bytes)) [[likely]] {
    if (p.kind != Kind::SHORT || !is_revoked(p.context)) [[likely]]
      return true;
    channels_.return_credit(channels_[from.rank], p.length + kMessageRecord);  // nobody will receive it
    return false;
  }
  protocol_error(from.rank, p, "it is beyond the sender's credit (RMQ_UNEXPECTED_MAX must be the same in all ranks)");
  return false;
}

bool Device::take_control(Rank from, const Packet& p) {
  received(from, p);
  if (p.length == 0) [[likely]]
    return true;
  protocol_error(from, p, "it has a payload");
  return false;
}

Request* Device::in_step(Step step, Rank from, std::uint64_t handle) {
  Request* r = pool_.find(Handle::from_wire(handle));
  return r && r->step == step && r->peer == from && !r->complete() ? r : nullptr;
}

}  // namespace rmq::adi
