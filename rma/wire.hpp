// What both ends of a window's packets agree on: how much may be under way, and where a packet has its ticket.
#pragma once

#include <cstdint>

#include "base/packet.hpp"

namespace rmq::rma {

/// How much may be under way to a target of one window: bytes of packets and of the answers that they ask for. A target
/// that cannot execute at once keeps no more than this.
inline constexpr std::uint64_t kFlightMost = 2 * 1024 * 1024;
/// Bytes of data that one packet brings, most. Part of the protocol: what an RMA_GET_ACCUMULATE with no_op asks for is
/// this much, in whole elements, from `at` on. (An RMA_GET asks for all: its answer is not copied.)
inline constexpr std::uint64_t kPieceMost = 256 * 1024;
/// What a packet without data counts for.
inline constexpr std::uint64_t kPacketCost = 64;

/// Operations on one element, whose packets have another shape than the rest.
inline bool is_single(Kind kind) {
  return kind == Kind::RMA_FETCH_OP || kind == Kind::RMA_CAS;
}

/// 0: it wants no answer.
inline std::uint32_t ticket_of(const Packet& p) {
  switch (p.kind) {
    case Kind::RMA_FETCH_OP:
    case Kind::RMA_CAS:
      return p.rma_fetch_op.ticket;
    case Kind::RMA_UNLOCK:
      return p.rma_unlock.ticket;
    case Kind::RMA_FLUSH:
      return p.rma_flush.ticket;
    case Kind::RMA_PUT:
    case Kind::RMA_GET:
    case Kind::RMA_ACCUMULATE:
    case Kind::RMA_GET_ACCUMULATE:
      return p.rma_put.ticket;
    default:
      return 0;
  }
}

/// Of an operation.
inline void set_ticket(Packet& p, std::uint32_t ticket) {
  if (p.kind == Kind::RMA_FETCH_OP)
    p.rma_fetch_op.ticket = ticket;
  else if (p.kind == Kind::RMA_CAS)
    p.rma_cas.ticket = ticket;
  else
    p.rma_put.ticket = ticket;  // the four of this shape have it in the same place
}

}  // namespace rmq::rma
