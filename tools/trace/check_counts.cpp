// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "adi/device.hpp"
#include "tools/trace/check_parts.hpp"

namespace rmq::trace {
namespace {

bool is_envelope(const Packet& p) {
  return p.kind == Kind::REQUEST_SEND && (p.flags & packet_flag::envelope) != 0;
}

// What the sender of a packet pays for the memory that it may fill.
std::int64_t cost_of(const Packet& p) {
  if (!begins_message(p.kind) || is_envelope(p)) return 0;
  return adi::kMessageRecord + (p.kind == Kind::REQUEST_SEND ? 0 : std::int64_t{p.length});
}

}  // namespace

Finding Counts::look(const Entry& e, const Packet& p) {
  switch (e.record.event) {
    case Event::packet_sent:
      if (Finding f = sent(e, p)) return f;
      return both(e, p, {e.rank, e.record.peer});
    case Event::packet_received:
      received(e, p);
      return both(e, p, {e.record.peer, e.rank});
    case Event::matched:
      return matched(e, p);
    case Event::protocol_error:
      return broken(ProtocolRule::sense, "the rank took this packet for nonsense and dropped it");
    case Event::credit:
      return credit(e);
    default:
      return {};
  }
}

Finding Counts::credit(const Entry& e) {
  const auto counted = static_cast<std::int64_t>(std::min(e.record.a1, std::uint64_t{INT64_MAX}));
  if (e.record.peer < 0) {
    full_[e.rank] = counted;
    return {};
  }
  const Pair pair{e.rank, e.record.peer};
  std::int64_t& left = credit_of(pair);
  const std::int64_t spent = full_[e.rank] - left;
  if (spent < 0 || e.record.a0 > static_cast<std::uint64_t>(spent))
    return broken(ProtocolRule::credit, fmt::format("{} bytes came back, {} were spent", e.record.a0, spent));
  left += static_cast<std::int64_t>(e.record.a0);
  if (left == counted) return {};
  return broken(ProtocolRule::credit,
                fmt::format("the rank counts {} bytes left; by its packets it is {}", counted, left));
}

Finding Counts::sent(const Entry& e, const Packet& p) {
  const Pair pair{e.rank, e.record.peer};
  if (const std::int64_t cost = cost_of(p)) {
    std::int64_t& left = credit_of(pair);
    left -= cost;
    if (left < 0)
      return broken(ProtocolRule::credit,
                    fmt::format("this message costs {} bytes of credit, {} were left", cost, left + cost));
  }
  if (!begins_message(p.kind)) return {};
  // Numbers of messages that were taken back before they left are missing. They may wrap.
  const auto [next, fresh] = next_.try_emplace(pair, p.msg);
  if (!fresh && static_cast<std::int32_t>(p.msg - next->second) < 0) {
    return broken(ProtocolRule::numbers, fmt::format("message {} leaves behind message {}", p.msg, next->second - 1));
  }
  next->second = p.msg + 1;
  return {};
}

void Counts::received(const Entry& e, const Packet& p) {
  if (begins_message(p.kind)) unmatched_[{e.rank, e.record.peer}].insert(p.msg);
}

// What both ends count alike, each in its own order.
Finding Counts::both(const Entry& e, const Packet& p, Pair from_to) {
  const auto [from, to] = from_to;
  if (p.kind == Kind::FLOW && (p.flags & packet_flag::envelope) == 0) {
    envelopes_[{e.rank, to, from}] += p.flow.envelopes;
  } else if (p.kind == Kind::FLOW) {
    std::int64_t& left = envelopes_[{e.rank, from, to}];
    left -= p.flow.envelopes;
    if (left < 0) return broken(ProtocolRule::envelopes, fmt::format("{} envelopes too many are given back", -left));
  }
  if (is_envelope(p) && --envelopes_[{e.rank, from, to}] < 0) {
    return broken(ProtocolRule::envelopes, "no FLOW packet has allowed this envelope");
  }
  if (p.kind == Kind::RMA_QUEUE_PUT) ++queued_[{e.rank, from, to, p.context}];
  if (p.kind == Kind::RMA_QUEUE_CREDIT) {
    std::int64_t& puts = queued_[{e.rank, to, from, p.context}];
    puts -= p.rma_queue_credit.credit;
    if (puts < 0) return broken(ProtocolRule::queue_credit, fmt::format("{} messages too many are given back", -puts));
  }
  if ((p.kind == Kind::AM_SHORT || p.kind == Kind::AM_LONG) && (p.flags & am_flag::reply) == 0)
    ++requested_[{e.rank, from, to, p.context}];
  if (p.kind == Kind::AM_CREDIT) {
    const std::uint64_t sent = requested_[{e.rank, to, from, p.context}];
    if (p.am_credit.handled > sent)
      return broken(ProtocolRule::handled,
                    fmt::format("{} are said to be handled, {} were sent", p.am_credit.handled, sent));
  }
  if (p.kind == Kind::RMA_SYNC) {
    const std::uint64_t what = std::uint64_t{p.rma_sync.what} << 32 | p.rma_sync.round;
    const auto [word, fresh] = words_.try_emplace({e.rank, from, to, p.context, what}, p.rma_sync.value);
    // Posts with MPI_MODE_NOCHECK are counted, but send no word. A new window may have the number of an old one.
    const bool post = p.rma_sync.what == 1;
    const bool follows = post ? p.rma_sync.value != word->second : p.rma_sync.value == word->second + 1;
    if (!fresh && !follows && p.rma_sync.value != 1) {
      return broken(ProtocolRule::counts,
                    fmt::format("value {} comes behind value {}", p.rma_sync.value, word->second));
    }
    word->second = p.rma_sync.value;
  }
  return {};
}

Finding Counts::matched(const Entry& e, const Packet& p) {
  if (e.record.peer == e.rank || !begins_message(p.kind)) return {};  // a message to oneself is no packet
  if (unmatched_[{e.rank, e.record.peer}].erase(p.msg) == 1) return {};
  return broken(ProtocolRule::match, fmt::format("message {} has not come, or has been matched before", p.msg));
}

}  // namespace rmq::trace
