// SPDX-License-Identifier: BSD-3-Clause
// Everything the method keeps about one other rank.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

#include "tcp/burst.hpp"
#include "tcp/inbox.hpp"
#include "tcp/outbox.hpp"
#include "tcp/socket.hpp"
#include "tcp/succession.hpp"

namespace rmq::tcp {

struct Link {
  /// What it is in: tcp/link_state.def, which has a sentence on each.
  enum class State : std::uint8_t {
#define RMQ_LINK_STATE(name, what) name,
#define RMQ_LINK_MOVE(from, to, why)
#include "tcp/link_state.def"
#undef RMQ_LINK_STATE
#undef RMQ_LINK_MOVE
  };
  static constexpr bool may_follow(State from, State to) {
#define RMQ_LINK_STATE(name, what)
#define RMQ_LINK_MOVE(before, after, why) \
  if (from == State::before && to == State::after) return true;
#include "tcp/link_state.def"
#undef RMQ_LINK_STATE
#undef RMQ_LINK_MOVE
    return false;
  }
  /// The next state, which the table allows.
  void go(State to) {
    assert(may_follow(state, to));
    state = to;
  }

  explicit Link(Rank rank) : peer(rank) {}

  const Rank peer;
  State state = State::unlinked;
  int fd = -1;                   // of `socket`; -1: not connected
  std::optional<Socket> socket;  // while up or pausing
  std::optional<Error> verdict;  // the device has dropped the rank: the next poll loses it
  std::optional<Error> ended;    // its process has ended: what has come is taken, and no call follows
  std::string address;           // of the other end, for messages
  std::string cause;             // why the connection has broken, while cut
  Inbox in;
  Outbox out{in};
  Burst burst;

  // What outlives a connection; see tcp/succession.hpp.
  std::uint64_t session = 0;     // of the peer; 0: there has been no connection
  std::uint32_t connection = 0;  // number of the last one
  std::uint32_t clock = 0;       // the highest number of a call or connection that is known

  // What the method does with it; see tcp/method.hpp.
  std::size_t place = 0;          // in the list of connected links, while connected
  bool busy = false;              // stands in the busy list
  bool hot = false;               // read by every poll
  bool watched = false;           // stands in the ready set …
  bool watched_writable = false;  // … also for writability
  bool refused = false;           // a send has been, and the device has not been told of room
  bool calling = false;           // the switchboard has been asked to call
  Pause pause;
  std::uint64_t pausing_since = 0;  // os::now_ns()
  std::uint64_t close_at = 0;       // when the peer is not waited for any more, while pausing; os::now_ns()
  bool goodbye_said = false;        // our LINK_CLOSE has been queued
  bool goodbye_heard = false;       // the peer's LINK_CLOSE has come
  bool shut = false;                // our side of the connection is shut down
  std::uint64_t used = 0;           // the poll that saw it used last, by the peer or by us
  std::uint32_t direct = 0;         // reads that brought something while hot and watched
  std::uint32_t quiet = 0;          // reads in a row that brought nothing while hot

  bool connected() const {
    return fd >= 0;
  }
  /// Whether something is to be written, or an owner waits for the peer to acknowledge.
  bool is_owing() const {
    return !out.idle() || out.owes_owners();
  }
  /// Whether a send that was refused may have another outcome now: a packet is taken, a call begins, the end is told.
  bool may_be_tried() const {
    return state == State::up ? !out.blocked() : state == State::unlinked ? !calling : state == State::left;
  }
};

}  // namespace rmq::tcp
