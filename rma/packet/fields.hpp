// SPDX-License-Identifier: BSD-3-Clause
// The fields of packets that several kinds have in different places.
#pragma once

#include <cstdint>

#include "base/packet/packet.hpp"

namespace rmq::rma {

/// One element, in one packet.
inline bool is_single(Kind kind) {
  return kind == Kind::RMA_FETCH_OP || kind == Kind::RMA_CAS;
}

/// Never in pieces.
inline bool is_in_one_packet(Kind kind) {
  return is_single(kind) || kind == Kind::RMA_PUT_LIST;
}

/// Names the answer that is wanted; 0: none.
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
    case Kind::RMA_PUT_LIST:
      return p.rma_put_list.ticket;
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
  else if (p.kind == Kind::RMA_PUT_LIST)
    p.rma_put_list.ticket = ticket;
  else
    p.rma_put.ticket = ticket;  // the four of this shape have it in the same place
}

/// A piece of an operation that has begun with an earlier one.
inline bool goes_on(const Packet& p) {
  return (p.kind == Kind::RMA_PUT || p.kind == Kind::RMA_ACCUMULATE) && p.rma_put.at != 0;
}

/// Data of an operation, in bytes, up to which it is copied when it has to wait.
inline constexpr std::uint64_t kCopyMost = 512;
inline constexpr std::uint8_t kLockFlags = rma_flag::lock_shared | rma_flag::lock_exclusive;
/// In a request for the lock: the origin waits for it in its call, so nobody counts on its having come in already.
inline constexpr std::uint8_t kInLine = rma_flag::ack;
/// In RMA_LOCK_GRANTED and RMA_ACK: others hold the lock exclusively or wait for that.
inline constexpr std::uint8_t kWriters = rma_flag::ack;

}  // namespace rmq::rma
