// SPDX-License-Identifier: BSD-3-Clause
#include "adi/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rmq::adi {

Arrivals::Arrivals(DeviceOptions& options, Bootstrap& bootstrap) : Completion(options, bootstrap) {
  sink_.on_packet.fill(&on_unknown);
  handle(Kind::FLOW, &on_flow);
}

void Arrivals::protocol_error(Rank from, const Packet& p, const char* why) {
  stray_packet(from, p);
  channels_[from].dropped = true;
  channels_[from].method->drop(
      from, {Errc::protocol, fmt::format("rank {} breaks the protocol and is given up: {} (packet {} of its link): {}",
                                         from, packet_name(p.kind), p.link, why)});
}

void Arrivals::stray_packet(Rank from, const Packet& p) {
  ++counters_.protocol_errors;
  trace_.packet(Event::protocol_error, id_of(from), from, p);
}

void Arrivals::on_unknown(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Arrivals>(device);
  // A floor above that has closed already may still be sent to by a rank that has not.
  if (static_cast<unsigned>(p.kind) >= kFirstOfFloors && find_packet_kind(p.kind)) return d.stray_packet(from, p);
  d.protocol_error(from, p, "no packet of this kind belongs here");
}

void Arrivals::refuse(Rank from, const Packet& p) {
  // What it sends behind the packet that was refused must not take the refused one's place.
  if (channels_[from].dropped) return;
  const char* why = "only bare envelopes may go beyond the credit";
  if (!is_rank(p.source))
    why = "its source is no rank";
  else if (p.kind == Kind::REQUEST_SEND)
    why = "it has a payload";
  protocol_error(from, p, why);
}

bool Arrivals::may_be_kept(const Channel& from, const Packet& p, std::uint64_t data_bytes) {
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

bool Arrivals::take_control(Rank from, const Packet& p) {
  received(from, p);
  if (p.length == 0) [[likely]]
    return true;
  protocol_error(from, p, "it has a payload");
  return false;
}

Request* Arrivals::in_step(Step step, Rank from, std::uint64_t handle) {
  Request* r = pool_.find(Handle::from_wire(handle));
  return r && r->step == step && r->peer == from && !r->complete() ? r : nullptr;
}

Request* Arrivals::keep(Channel& from, const Packet& p, const Match& m, std::uint64_t data_bytes, Step step) {
  Request* message = pool_.get();
  message->kind = RequestKind::message;
  message->go(step);
  message->unexpected = {};
  message->match = m;
  message->peer = from.rank;
  message->packet = p;
  if (data_bytes) {
    message->owned = static_cast<std::byte*>(std::malloc(data_bytes));
    RMQ_CHECK(message->owned != nullptr);  // bounded by the published ceiling
    message->owned_bytes = data_bytes;
  }
  channels_.hold(from, p, data_bytes);
  match_.keep(message);
  trace_.packet(Event::unexpected, from.method_number(), from.rank, p, match_.unexpected(), counters_.unexpected_bytes);
  return message;
}

void Arrivals::release_kept(Request* message) {
  channels_.release(channels_[message->peer], message->packet, message->owned_bytes);
}

// An announced or synchronous one is taken back by its sender, who waits for the answer.
bool Arrivals::forget_kept(Request* r) {
  const bool short_one = r->packet.kind == Kind::SHORT && r->unexpected.self_send == nullptr;
  if (r->step != Step::kept || !short_one) return false;
  match_.take(r);
  release_kept(r);
  pool_.put(r);
  return true;
}

bool Arrivals::forget_contexts(std::span<const std::uint32_t> contexts) {
  bool all = true;
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* const r = pool_.at(i);
    if (!(r->self.generation & 1) || (r->flags & request_flag::staged) || r->kind != RequestKind::message) continue;
    if (std::ranges::find(contexts, r->match.context) != contexts.end()) all = forget_kept(r) && all;
  }
  for (const std::uint32_t context : contexts)
    if (all) revoked_.erase(context);
  return all;
}

void Arrivals::on_flow(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Arrivals>(device);
  if (!d.take_control(from, p)) return;
  Channel& c = d.channels_[from];
  if (p.flags & packet_flag::envelope) {
    if (!d.channels_.take_back_envelopes(c, p.flow.envelopes))
      d.protocol_error(from, p, "it gives back more than it has");
    return;
  }
  if (p.flow.envelopes > UINT32_MAX - c.envelopes)
    return d.protocol_error(from, p, "it allows more than can be counted");
  c.envelopes += p.flow.envelopes;
  // Perhaps nothing waits any more.
  if (c.messages.empty()) d.channels_.give_back_envelopes(c);
}

}  // namespace rmq::adi
