// How packets find their window, and answers their operation.
#include "rma/domain.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "rma/agent.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

constexpr Kind kFirst = Kind::RMA_PUT, kLast = Kind::DATATYPE_MISS;

}  // namespace

Domain::Domain(adi::Device& device)
    : device_(device), types_out_(device, counters_), types_in_(device.config(), device.trace(), counters_) {
  // Every number in between, so that what is missing in the list is a protocol error of ours.
  device_.MPID_Register(kFirst, kLast, *this);
}

Domain::~Domain() {
  agent_.reset();
  device_.MPID_Unregister(*this);
}

void Domain::add(Window& window) {
  windows_[window.id()] = &window;
}

void Domain::remove(Window& window) {
  serve_locks_of(window, false);
  for (Ticket& t : tickets_) {  // none, unless it ends early: the answers will name nobody
    if (t.window == &window) t.window = nullptr;
  }
  std::erase_if(starved_, [&](const auto& s) { return s.first == &window; });
  const auto found = windows_.find(window.id());
  if (found != windows_.end() && found->second == &window) windows_.erase(found);
}

void Domain::serve_locks_of(Window& window, bool want) {
  std::erase(serving_, &window);
  if (want) serving_.push_back(&window);
  device_.MPID_Want_turns(!serving_.empty());
}

int Domain::advance() {
  int n = 0;
  const std::vector<Window*> serving = serving_;
  for (Window* w : serving) n += w->serve_locks();
  return n;
}

bool Domain::may_sleep() {
  if (advance() > 0) return false;
  return std::none_of(waits_.begin(), waits_.end(), [](const Wait* w) { return w->come_true(); });
}

void Domain::on_peer_lost(Rank rank) {
  types_in_.forget_rank(rank);
  std::vector<Window*> all;
  for (const auto& [id, window] : windows_) all.push_back(window);
  for (Window* w : all) w->peer_lost(rank);
  feed_starved();
}

void Domain::protocol_error(Rank from, const Packet& p) {
  ++counters_.protocol_errors;
  device_.MPID_Protocol_error(from, p);
}

// ---- operations and tickets ----

Op* Domain::new_op() {
  if (!free_ops_) {
    ops_.push_back(std::make_unique<Op>());
    return ops_.back().get();
  }
  Op* op = free_ops_;
  free_ops_ = op->next;
  *op = Op{};
  return op;
}

void Domain::free_op(Op* op) {
  op->layouts = {};
  op->next = free_ops_;
  free_ops_ = op;
}

std::uint32_t Domain::new_ticket(Window& window, int rank, Op* op, std::uint64_t number, std::uint64_t position) {
  if (free_tickets_.empty()) {
    RMQ_CHECK(has_ticket());
    free_tickets_.push_back(static_cast<std::uint32_t>(tickets_.size()));
    tickets_.emplace_back();
  }
  const std::uint32_t index = free_tickets_.back();
  free_tickets_.pop_back();
  Ticket& t = tickets_[index];
  t = Ticket{&window, op, rank, static_cast<std::uint8_t>(t.generation + 1), number, position};
  return (index + 1) << 8 | t.generation;
}

Domain::Ticket* Domain::find_ticket(std::uint32_t wire, Rank from) {
  const std::uint32_t index = (wire >> 8) - 1;
  if (index >= tickets_.size()) return nullptr;
  Ticket& t = tickets_[index];
  if (!t.window || t.generation != (wire & 0xff) || t.window->world(t.rank) != from) return nullptr;
  return &t;
}

void Domain::free_ticket(std::uint32_t wire) {
  const std::uint32_t index = (wire >> 8) - 1;
  tickets_[index].window = nullptr;
  free_tickets_.push_back(index);
}

void Domain::starve(Window& window, Channel& channel) {
  if (!std::exchange(channel.starved, true)) starved_.emplace_back(&window, channel.rank);
}

// Answers have made tickets free.
void Domain::feed_starved() {
  while (!starved_.empty() && has_ticket()) {
    const auto [window, rank] = starved_.back();
    starved_.pop_back();
    Channel& c = *window->channels_[static_cast<std::size_t>(rank)];
    c.starved = false;
    window->pump(c);
  }
}

// Nothing comes from this rank any more.
void Domain::drop_tickets(const Window& window, int rank, Fault fault) {
  for (std::size_t i = 0; i < tickets_.size(); ++i) {
    const Ticket t = tickets_[i];
    if (t.window != &window || t.rank != rank) continue;
    if (t.op)
      t.window->answered(t.op, fault);
    else
      free_ticket((static_cast<std::uint32_t>(i) + 1) << 8 | t.generation);
  }
}

// ---- packets ----

Window* Domain::window_of(Rank from, const Packet& p, int& member) {
  const auto found = windows_.find(p.context);
  if (found == windows_.end()) return nullptr;
  member = found->second->member(from);
  return member >= 0 ? found->second : nullptr;
}

/// Whether these mean something: a fault, and a world rank plus 1, or 0.
bool Domain::is_known(std::uint32_t fault, std::uint32_t culprit) const {
  return fault <= static_cast<std::uint32_t>(Fault::definition) &&
         culprit <= static_cast<std::uint32_t>(device_.job().size);
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
      if (!types_out_.told_again(from, p.datatype_miss.type)) protocol_error(from, p);
      return;
    default:
      break;
  }
  int member = -1;
  Window* window = window_of(from, p, member);
  if (!window || !find_packet_kind(p.kind)) return protocol_error(from, p);
  if (p.kind == Kind::RMA_LOCK_GRANTED) {
    const auto& [fault, culprit] = p.rma_lock_granted;
    if (!is_known(fault, culprit)) return protocol_error(from, p);
    return window->lock_answered(member, static_cast<Fault>(fault), static_cast<Rank>(culprit) - 1);
  }
  window->arrive(member, p, payload);
}

void Domain::on_reply(Rank from, const Packet& p, const std::byte* payload) {
  const Ticket* t = find_ticket(p.rma_reply.ticket, from);
  Op* op = t ? t->op : nullptr;
  const std::uint64_t at = p.rma_reply.at;
  if (!op || at > op->bytes || p.length > op->bytes - at || p.length > op->sent - op->arrived)
    return protocol_error(from, p);
  if (payload) unpack(op->result, at, payload, p.length);  // else it has landed there
  op->window->answer_arrived(op, p.length, Fault::none);
  feed_starved();
}

void Domain::on_ack(Rank from, const Packet& p) {
  if (!is_known(p.rma_ack.fault, p.rma_ack.culprit)) return protocol_error(from, p);
  const auto fault = static_cast<Fault>(p.rma_ack.fault);
  const auto culprit = static_cast<Rank>(p.rma_ack.culprit) - 1;
  if (p.rma_ack.ticket == 0) {  // an operation that wanted no answer has failed
    int member = -1;
    Window* window = window_of(from, p, member);
    return window ? window->note_fault(member, fault, culprit) : protocol_error(from, p);
  }
  const Ticket* found = find_ticket(p.rma_ack.ticket, from);
  if (!found) return protocol_error(from, p);
  const Ticket t = *found;
  if (t.op) {
    if (fault == Fault::none || t.op->arrived >= t.op->sent) return protocol_error(from, p);
    t.window->answer_arrived(t.op, 0, fault);
  } else {
    free_ticket(p.rma_ack.ticket);
    --t.window->channels_[static_cast<std::size_t>(t.rank)]->asks;
    t.window->acknowledged(t.rank, t.number, t.position, fault, culprit);
  }
  feed_starved();
}

void Domain::on_definition(Rank from, const Packet& p, const std::byte* payload) {
  bool sane = false;
  const bool complete = types_in_.defined(from, p.datatype_defn, {payload, p.length}, sane);
  if (!sane) return protocol_error(from, p);
  if (!complete) return;
  std::vector<Window*> all;
  for (const auto& [id, window] : windows_) {
    if (window->member(from) >= 0) all.push_back(window);
  }
  for (Window* w : all) w->retry_type(w->member(from), p.datatype_defn.type);
}

methods::Landing Domain::on_arriving(Rank from, const Packet& p) {
  methods::Landing landing;
  if (p.kind == Kind::RMA_REPLY) {
    const Ticket* t = find_ticket(p.rma_reply.ticket, from);
    const std::uint64_t at = p.rma_reply.at;
    if (!t || !t->op || at > t->op->bytes || p.length > t->op->bytes - at || p.length > t->op->sent - t->op->arrived) {
      protocol_error(from, p);
      return landing;
    }
    landing.into = t->op->result;
    landing.offset = at;
    landing.bytes = p.length;
    return landing;
  }
  int member = -1;
  Window* window = window_of(from, p, member);
  if (window && window->land(member, p, landing)) return landing;
  // Whatever else it is waits in memory of its own, and is handled as a packet when it is whole.
  Request* buffer = device_.MPID_Request_create(RequestKind::other);
  buffer->owned = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(p.length, 1)));
  RMQ_CHECK(buffer->owned != nullptr);
  buffer->owned_bytes = p.length;
  landing.into = DataView::contiguous(buffer->owned, p.length);
  landing.bytes = p.length;
  landing.owner = buffer;
  return landing;
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
  if (Window* window = window_of(from, p, member)) window->landed(member, p);
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
