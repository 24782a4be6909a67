// SPDX-License-Identifier: BSD-3-Clause
// When a new connection of a pair takes the place of an earlier one, and when an old one may end without being missed.
// Pure rules, used by tcp/relink.cpp and, over pipes that break at random, by tests/cuts/model.cpp.
//
// Calls and connections of a pair are numbered by a clock that each side keeps: a call takes a higher number than all
// that its caller knows, and a connection has the highest number that either side knew when it was accepted. So a call
// is stale if and only if its number is not higher than that of the last connection which the called rank knows of:
//   - who has found a connection broken knows its number, and calls with a higher one;
//   - who never heard ACCEPT calls again with a higher one, too, or learns from the refusal what is higher;
//   - a call that was hung up, because the other side's was accepted, is not higher than that connection;
//   - and what the caller has received is as its first word says, for whatever it may have received since has come by a
//     connection that was made later, which then has at least the call's number.
// A rank that believes to be connected therefore gives its connection up for any call that is not stale.
//
// Pause: a rank that wants its descriptor back says LINK_PAUSE behind all it has sent, and sends no numbered packet on
// that connection any more; the other side says the same behind all it has. Each closes when both have said so and the
// other has acknowledged everything: what is still on its way is an acknowledgement at most, which nobody misses. Where
// the connection breaks before, it is made again as any other.
//
// A rank that computes does not answer. So who has said LINK_PAUSE may also close alone, as soon as all that it sent
// has come to the peer's machine: the peer reads it from there, finds LINK_PAUSE and the end behind it, and makes the
// connection again only if it has sent something meanwhile that was not acknowledged. Who has closed alone keeps what
// was not acknowledged, for a call may come before the peer has read the earlier connection to its end.
#pragma once

#include <cstdint>

#include "tcp/handshake.hpp"

namespace rmq::tcp {

/// What a rank knows of another when that one has proved itself in a call.
struct Standing {
  bool lost = false;             // for good
  std::uint64_t session = 0;     // the other's life; 0: there has been no connection yet
  std::uint32_t connection = 0;  // number of the last one
};

enum class Verdict : std::uint8_t {
  accept,
  stale,  // the call is older than the last connection
  lost,   // the caller is lost, or is not the process that it was
};

/// Numbers wrap.
constexpr bool is_later(std::uint32_t one, std::uint32_t other) {
  return static_cast<std::int32_t>(one - other) > 0;
}

constexpr Verdict answer_to(const Standing& ours, std::uint64_t session, std::uint32_t call) {
  if (ours.lost || (ours.session != 0 && ours.session != session)) return Verdict::lost;
  return is_later(call, ours.connection) ? Verdict::accept : Verdict::stale;
}

/// The number of the connection that comes of a call, when `clock` is what the called rank knows.
constexpr std::uint32_t connection_number(std::uint32_t clock, std::uint32_t call) {
  return is_later(call, clock) ? call : clock;
}

/// One side's part in a pause.
struct Pause {
  bool said = false;
  bool heard = false;

  bool begun() const { return said || heard; }
  /// Whether the connection may be closed: `settled`, nothing is left to be written, and all has been acknowledged.
  bool may_close(bool settled) const { return said && heard && settled; }
  /// Whether it may be closed without the other side's answer: `there`, all that was sent is on the peer's machine, and
  /// nobody waits for it to be acknowledged.
  bool may_close_alone(bool there) const { return said && there; }
  /// The other side has closed: whether nothing is missing. `acknowledged`: all that this side has sent is.
  bool is_over(bool acknowledged) const { return heard && acknowledged; }
};

}  // namespace rmq::tcp
