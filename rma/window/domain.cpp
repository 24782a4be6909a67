// SPDX-License-Identifier: BSD-3-Clause
// How packets find their window, and answers their operation.
#include "rma/window/domain.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "rma/packet/fields.hpp"
#include "rma/packet/land_apart.hpp"
#include "rma/window/agent.hpp"
#include "rma/window/window.hpp"

namespace rmq::rma {
namespace {

constexpr Kind kFirst = Kind::RMA_PUT, kLast = Kind::DATATYPE_MISS;

constexpr const char* kNotAsked = "it answers more than it was asked, or something else";
constexpr const char* kNoFault = "it reports a fault, or names a rank, that there is not";

}  // namespace

Domain::Domain(adi::Device& device) : DomainCore(device) {
  // Every number in between, so that what is missing in the list is a protocol error of ours.
  device_.register_extension(kFirst, kLast, *this);
}

Domain::~Domain() {
  agent_.reset();
  device_.unregister_extension(*this);
}

void Domain::add(Window& window) {
  windows_[window.id()] = &window;
}

void Domain::remove(Window& window) {
  serve_locks_of(window.server_, false);
  tickets_.orphan([&](const Channel& c) { return c.is_of(window.core_); });
  std::erase_if(behind_, [&](const auto& b) { return b.first == &window.server_; });
  const auto found = windows_.find(window.id());
  if (found != windows_.end() && found->second == &window) windows_.erase(found);
  want_turns();
}

// Each is out of the list before it is pushed: one that ends meanwhile is not there either.
int Domain::push_all() {
  if (deferred_.empty()) return 0;
  int n = 0;
  for (std::size_t left = deferred_.size(); left > 0 && !deferred_.empty(); --left, ++n) {
    Channel* const channel = deferred_.back();
    deferred_.pop_back();
    channel->push();
  }
  want_turns();
  return n;
}

// Goes on with those who have taken their answers.
int Domain::resume_all() {
  if (behind_.empty() && again_.empty()) return 0;
  int n = 0;
  const auto asked = again_;
  for (const auto& [rank, type] : asked) {
    if (is_behind(rank)) continue;
    types_out_.tell_again(rank, type);
    again_.erase({rank, type});
    ++n;
  }
  for (std::size_t i = behind_.size(); i-- > 0;) {  // from the end: some stand there again at once
    const auto [server, origin] = behind_[i];
    if (is_behind(origin->world)) continue;
    behind_.erase(behind_.begin() + static_cast<std::ptrdiff_t>(i));
    server->resume(*origin);
    ++n;
  }
  want_turns();
  return n;
}

void Domain::feed() {
  while (Channel* const channel = tickets_.next_to_feed()) channel->fed();
}

int Domain::advance() {
  int n = resume_all() + push_all();
  const std::vector<Server*> serving = serving_;
  for (Server* s : serving) n += s->serve_locks();
  return n;
}

bool Domain::may_sleep() {
  return advance() == 0;
}

void Domain::on_peer_lost(Rank rank) {
  types_in_.forget_rank(rank);
  std::erase_if(again_, [&](const auto& a) { return a.first == rank; });
  std::vector<Window*> all;
  for (const auto& [id, window] : windows_) all.push_back(window);
  for (Window* w : all) w->peer_lost(rank);
  feed();
  want_turns();
}

void Domain::stray(Rank from, const Packet& p) {
  ++counters_.stray_packets;
  device_.stray_packet(from, p);
}

void Domain::stray_answer(Rank from, const Packet& p, std::uint32_t ticket) {
  if (tickets_.is_orphan(ticket)) return stray(from, p);
  protocol_error(from, p, "it answers nothing that it was asked");
}

// ---- packets ----

Window* Domain::find_window(Rank from, const Packet& p, int& member) {
  const auto found = windows_.find(p.context);
  if (found == windows_.end()) return nullptr;
  member = found->second->core_.member(from);
  return member >= 0 ? found->second : nullptr;
}

// The same; what is wrong with a packet that gets none has been dealt with.
Window* Domain::window_of(Rank from, const Packet& p, int& member) {
  Window* const window = find_window(from, p, member);
  if (!window && windows_.contains(p.context))
    protocol_error(from, p, "it is no member of the window");
  else if (!window)
    stray(from, p);
  return window;
}

bool Domain::is_known(std::uint32_t fault) {
  return fault <= static_cast<std::uint32_t>(Fault::definition);
}

void Domain::on_packet(Rank from, const Packet& p, const std::byte* payload) {
  switch (p.kind) {
    case Kind::RMA_REPLY:
      return on_reply(from, p, payload);
    case Kind::RMA_ACK:
      return on_ack(from, p);
    case Kind::DATATYPE_DEFN:
      return on_definition(from, p, payload);
    case Kind::DATATYPE_MISS:
      if (!types_out_.knows(p.datatype_miss.type))
        return protocol_error(from, p, "it asks for a datatype that there is not");
      again_.emplace(from, p.datatype_miss.type);
      resume_all();
      return;
    default:
      break;
  }
  if (!find_packet_kind(p.kind)) return protocol_error(from, p, "no packet of this kind belongs here");
  int member = -1;
  Window* window = window_of(from, p, member);
  if (!window) return;
  if (p.kind == Kind::RMA_LOCK_GRANTED) {
    const auto& [fault, culprit] = p.rma_lock_granted;
    if (!is_known(fault) || !window->core_.is_name(culprit)) return protocol_error(from, p, kNoFault);
    if (Channel* channel = window->sender_.find(member)) {
      channel->note_writers((p.flags & kWriters) != 0);
      channel->lock_answered(static_cast<Fault>(fault), window->core_.named(culprit));
    }
    return;
  }
  window->server_.arrive(member, p, payload);
}

// The operation that wants this answer; what is wrong with an answer that nobody wants has been dealt with.
Op* Domain::find_asker(Rank from, const Packet& reply) {
  const auto [at, ticket] = reply.rma_reply;
  const Ticket* t = tickets_.find(ticket, from);
  Op* const op = t ? t->op : nullptr;
  if (!op) {
    stray_answer(from, reply, ticket);
  } else if (at > op->bytes || reply.length > op->bytes - at || reply.length > op->sent - op->arrived) {
    protocol_error(from, reply, kNotAsked);
  } else {
    return op;
  }
  return nullptr;
}

void Domain::on_reply(Rank from, const Packet& p, const std::byte* payload) {
  Op* const op = find_asker(from, p);
  if (!op) return;
  if (payload) unpack(op->result, p.rma_reply.at, payload, p.length);  // else it has landed there
  op->channel->answer_arrived(op, p.length, Fault::none);
  feed();
}

void Domain::on_ack(Rank from, const Packet& p) {
  if (!is_known(p.rma_ack.fault)) return protocol_error(from, p, kNoFault);
  const auto fault = static_cast<Fault>(p.rma_ack.fault);
  if (p.rma_ack.ticket == 0) {  // an operation that wanted no answer has failed
    int member = -1;
    const Window* window = window_of(from, p, member);
    if (window && !window->core_.is_name(p.rma_ack.culprit)) return protocol_error(from, p, kNoFault);
    if (Channel* channel = window ? window->sender_.find(member) : nullptr)
      channel->note_fault(fault, window->core_.named(p.rma_ack.culprit));
    return;
  }
  const Ticket* found = tickets_.find(p.rma_ack.ticket, from);
  if (!found) return stray_answer(from, p, p.rma_ack.ticket);
  if (!found->channel->is_name(p.rma_ack.culprit)) return protocol_error(from, p, kNoFault);
  if (Op* const op = found->op) {
    if (fault == Fault::none || op->arrived >= op->sent) return protocol_error(from, p, kNotAsked);
    op->channel->answer_arrived(op, 0, fault, op->channel->named(p.rma_ack.culprit));
  } else {
    const Ticket t = tickets_.free(p.rma_ack.ticket);
    t.channel->note_writers((p.flags & kWriters) != 0);
    t.channel->acknowledgement_arrived(t, fault, t.channel->named(p.rma_ack.culprit));
  }
  feed();
}

void Domain::on_definition(Rank from, const Packet& p, const std::byte* payload) {
  bool sane = false;
  const bool complete = types_in_.defined(from, p.datatype_defn, {payload, p.length}, sane);
  if (!sane)
    return protocol_error(from, p,
                          "its definition of a datatype makes no sense, or is larger than RMQ_RMA_TYPE_BYTES here");
  if (!complete) return;
  std::vector<Window*> all;
  for (const auto& [id, window] : windows_) {
    if (window->core_.member(from) >= 0) all.push_back(window);
  }
  for (Window* w : all) w->server_.retry_type(w->core_.member(from), p.datatype_defn.type);
}

methods::Landing Domain::on_arriving(Rank from, const Packet& p) {
  methods::Landing landing;
  if (p.kind == Kind::RMA_REPLY) {
    if (const Op* const op = find_asker(from, p)) {
      landing.into = op->result;
      landing.offset = p.rma_reply.at;
      landing.bytes = p.length;
    }
    return landing;
  }
  int member = -1;
  Window* window = find_window(from, p, member);
  if (window && window->server_.land(member, p, landing)) return landing;
  // Whatever else it is waits in memory of its own, and is handled as a packet when it is whole.
  return land_apart(device_, p);
}

void Domain::on_landed(Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  if (landing.owner && landing.owner->owned) {
    if (error == Errc::ok) on_packet(from, p, landing.owner->owned);
    device_.MPID_Request_free(landing.owner);
    return;
  }
  if (landing.owner) device_.MPID_Request_free(landing.owner);
  if (error != Errc::ok || landing.bytes != p.length) return;
  if (p.kind == Kind::RMA_REPLY) return on_reply(from, p, nullptr);
  int member = -1;
  if (Window* window = find_window(from, p, member)) window->server_.landed(member, p);
}

void Domain::need_agent(bool need) {
  agent_needs_ += need ? 1 : -1;
  if (!device_.config().rma_agent) return;
  if (agent_needs_ > 0 && !agent_)
    agent_ = std::make_unique<Agent>(device_);
  else if (agent_needs_ == 0)
    agent_.reset();
}

}  // namespace rmq::rma
