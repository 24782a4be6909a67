// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "rma/packet/fields.hpp"
#include "tools/trace/check_parts.hpp"

namespace rmq::trace {
namespace {

const PacketField* find_field(Kind kind, std::string_view name) {
  const PacketKind* k = find_packet_kind(kind);
  if (!k) return nullptr;
  const auto at =
      std::find_if(k->fields.begin(), k->fields.end(), [&](const PacketField& f) { return f.name == name; });
  return at == k->fields.end() ? nullptr : &*at;
}

}  // namespace

Finding broken(ProtocolRule rule, std::string why) {
  return {protocol_rules()[static_cast<std::size_t>(rule)].name, std::move(why)};
}

std::uint64_t field_of(const Packet& p, std::string_view name) {
  const PacketField* f = find_field(p.kind, name);
  return f ? packet_field(p, *f) : 0;
}

std::size_t Machines::Hash::operator()(const Key& k) const {
  std::uint64_t h = k.id;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(k.machine), static_cast<std::uint64_t>(k.viewer),
        static_cast<std::uint64_t>(k.owner), static_cast<std::uint64_t>(k.other), std::uint64_t{k.context}}) {
    h = (h ^ (h >> 29) ^ part) * 0x9e3779b97f4a7c15u;
  }
  return h;
}

Machines::Machines() {
  const auto machines = protocol_machines();
  for (const ProtocolMove& m : protocol_moves()) {
    const auto machine =
        std::find_if(machines.begin(), machines.end(), [&](const auto& x) { return x.name == m.machine; });
    const PacketField* key = m.key.empty() ? nullptr : find_field(m.kind, m.key);
    const Step step{static_cast<int>(machine - machines.begin()), m.by_owner, machine->by_context, key,
                    key && key->size == sizeof(std::uint64_t),    {}};  // the keys of 64 bits are handles
    auto& steps = steps_[static_cast<std::size_t>(m.kind)];
    auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& s) {
      return s.machine == step.machine && s.by_owner == step.by_owner && s.key == step.key;
    });
    if (at == steps.end()) at = steps.insert(steps.end(), step);
    at->moves.push_back(&m);
  }
}

Finding Machines::look(const Entry& e, const Packet& p) {
  for (const Step& step : steps_[static_cast<std::size_t>(p.kind)]) {
    if (Finding f = take(step, e, p)) return f;
  }
  return {};
}

Finding Machines::take(const Step& step, const Entry& e, const Packet& p) {
  const std::uint64_t id = step.key ? packet_field(p, *step.key) : 0;
  if (step.key && id == 0) return {};
  const bool sent = e.record.event == Event::packet_sent;
  const int sender = sent ? e.rank : e.record.peer, receiver = sent ? e.record.peer : e.rank;
  const int owner = step.by_owner ? sender : receiver, other = step.by_owner ? receiver : sender;
  const Key key{step.machine, e.rank, owner, other, step.by_context ? p.context : 0, static_cast<std::uint32_t>(id)};
  const auto at = conversations_.try_emplace(key).first;
  Conversation& c = at->second;
  bool over = false;
  if (const auto generation = static_cast<std::uint32_t>(id >> 32); step.by_handle && generation != c.generation) {
    over = c.generation != 0 && static_cast<std::int32_t>(generation - c.generation) < 0;
    if (!over) {
      c = {};
      c.generation = generation;
    }
  }
  for (const ProtocolMove* m : step.moves) {
    if (over || m->from != c.state || !passes(m->guard, p, c)) continue;
    note(m->to, p, c);
    c.state = m->to;
    if (c.state == "none" && !step.by_handle) conversations_.erase(at);
    return {};
  }
  const ProtocolMachine& machine = protocol_machines()[static_cast<std::size_t>(step.machine)];
  std::string allowed;
  for (const ProtocolMove* m : step.moves) {
    const std::string_view guard = protocol_guards()[static_cast<std::size_t>(m->guard)].meaning;
    allowed +=
        fmt::format("{}{}{}", allowed.empty() ? "" : "; ", m->from, guard.empty() ? "" : fmt::format(" ({})", guard));
  }
  std::string what = fmt::format("for rank {} it is in the state {} (owner rank {}, other rank {})", e.rank,
                                 over ? "over" : c.state, owner, other);
  if (step.key) what += fmt::format(", {} = {:#x}", step.key->name, id);
  return {machine.name, fmt::format("{}; this packet may come in: {}", what, allowed)};
}

bool Machines::passes(Guard guard, const Packet& p, const Conversation& c) {
  const bool lock = (p.flags & rma::kLockFlags) != 0, unlock = (p.flags & rma_flag::unlock) != 0;
  const bool defn = p.kind == Kind::DATATYPE_DEFN;
  const std::uint64_t at = defn ? p.datatype_defn.at : p.rndv_data.offset;  // of kinds that come in pieces
  const std::uint64_t size = defn ? p.datatype_defn.size : c.size;
  switch (guard) {
    case Guard::always:
      return true;
    case Guard::cancelled:
      return p.anti_send_ok.cancelled == 1;
    case Guard::kept:
      return p.anti_send_ok.cancelled == 0;
    case Guard::wanted:
      return field_of(p, "size") > 0;
    case Guard::unwanted:
      return field_of(p, "size") == 0;
    case Guard::more:
      return at == c.have && at + p.length < size;
    case Guard::rest:
      return at == c.have && at + p.length == size;
    case Guard::first:
      return at == 0 && p.length > 0 && p.length < size;
    case Guard::whole:
      return at == 0 && p.length > 0 && p.length == size;
    case Guard::granted:
      return field_of(p, "fault") == 0;
    case Guard::refused:
      return field_of(p, "fault") != 0;
    case Guard::plain:
      return !lock && !unlock;
    case Guard::locks:
      return lock && !unlock;
    case Guard::passes:
      return lock && unlock;
    case Guard::unlocks:
      return !lock && unlock;
    case Guard::rider:
      return field_of(p, "ticket") == c.size;
    case Guard::others:
      return field_of(p, "ticket") != c.size;
  }
  return false;
}

void Machines::note(std::string_view to, const Packet& p, Conversation& c) {
  if (p.kind == Kind::OK_TO_SEND && to == "landing") c.size = p.ok_to_send.size, c.have = 0;
  if (p.kind == Kind::RNDV_DATA) c.have += p.length;
  if (p.kind == Kind::DATATYPE_DEFN) c.have = p.datatype_defn.at + p.length;
  if (to == "riding" && c.state == "none") c.size = field_of(p, "ticket");
  if (to == "passing" && c.state == "none") c.size = field_of(p, "ticket");
}

}  // namespace rmq::trace
