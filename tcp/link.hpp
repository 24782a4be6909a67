// Everything the method keeps about one other rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tcp/burst.hpp"
#include "tcp/inbox.hpp"
#include "tcp/outbox.hpp"
#include "tcp/socket.hpp"

namespace rmq::tcp {

struct Link {
  //   unlinked --on_connected--> up --good-bye and end of stream--> left --send--> lost
  //      |                        '--------failure------------------------------->  ^
  //      '-----------------------on_unreachable-------------------------------------'
  enum class State : std::uint8_t {
    unlinked,  // no connection yet; the switchboard may be calling
    up,        // packets flow
    left,      // the rank has said good-bye and is gone; nobody has missed it so far
    lost,      // unreachable for good; on_peer_lost has been called
  };

  explicit Link(Rank rank) : peer(rank) {}

  const Rank peer;
  State state = State::unlinked;
  int fd = -1;                   // of `socket`, while up
  std::optional<Socket> socket;  // while up
  std::optional<Error> verdict;  // the device has dropped the rank: the next poll loses it
  std::string address;           // of the other end, for messages
  Outbox out;
  Inbox in;
  Burst burst;

  // What the method does with it; see tcp/method.hpp.
  bool busy = false;              // stands in the busy list
  bool hot = false;               // read by every poll
  bool watched = false;           // stands in the ready set …
  bool watched_writable = false;  // … also for writability
  bool goodbye_said = false;      // our LINK_CLOSE has been queued
  bool goodbye_heard = false;     // the peer's LINK_CLOSE has come
  bool shut = false;              // our side of the connection is shut down
  std::uint32_t direct = 0;       // reads that brought something while hot and watched
  std::uint32_t quiet = 0;        // reads in a row that brought nothing while hot
};

}  // namespace rmq::tcp
