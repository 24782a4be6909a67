// When a new connection of a pair takes the place of an earlier one, and when an old one may end without being missed.
// Pure rules, used by tcp/relink.cpp and, over pipes that break at random, by tests/tcp/link_model_test.cpp.
//
// Both ranks count the connections of the pair; ACCEPT gives a new one its number. A called rank that accepts knows of
// it a moment before the caller does, and the caller may never hear of it; otherwise the two agree. That decides what a
// call means while the called rank believes that it is connected:
//   - the caller knows the present connection, so it has found it broken: accept;
//   - it does not, and it was the caller of the present one: it never heard ACCEPT, perhaps several times: accept;
//   - it does not, and was called by us: it had called before it heard us, so this call has hung up already: stale.
//
// Pause: a rank that wants its descriptor back says LINK_PAUSE behind all it has sent, and sends no numbered packet on
// that connection any more; the other side says the same behind all it has. Each closes when both have said so and the
// other has acknowledged everything: what is still on its way is an acknowledgement at most, which nobody misses. Where
// the connection breaks before, it is made again as any other.
#pragma once

#include <cstdint>

#include "tcp/handshake.hpp"

namespace rmq::tcp {

/// What a rank knows of another when that one has proved itself in a call.
struct Standing {
  bool lost = false;          // for good
  bool connected = false;     // as far as this rank knows
  bool called = false;        // by the other, for the present connection
  std::uint64_t session = 0;  // the other's life; 0: there has been no connection yet
  Past past;                  // what this rank has received, and the present connection's number
};

enum class Verdict : std::uint8_t {
  accept,
  stale,  // the call is older than the present connection
  lost,   // the caller is lost, or is not the process that it was
};

constexpr Verdict answer_to(const Standing& ours, std::uint64_t session, Past theirs) {
  if (ours.lost || (ours.session != 0 && ours.session != session)) return Verdict::lost;
  if (!ours.connected || theirs.connection == ours.past.connection) return Verdict::accept;
  return ours.called ? Verdict::accept : Verdict::stale;
}

/// The number of a new connection: more than either has seen.
constexpr std::uint32_t next_connection(Past ours, Past theirs) {
  const bool behind = static_cast<std::int32_t>(theirs.connection - ours.connection) > 0;
  return (behind ? theirs.connection : ours.connection) + 1;
}

/// One side's part in a pause.
struct Pause {
  bool said = false;
  bool heard = false;

  bool begun() const { return said || heard; }
  /// Whether the connection may be closed: `settled`, nothing is left to be written, and all has been acknowledged.
  bool may_close(bool settled) const { return said && heard && settled; }
};

}  // namespace rmq::tcp
