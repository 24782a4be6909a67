// What a window knows of each other member, as a target (rma/reach.hpp, Channel, Op) and as an origin (Origin). Private
// to rma/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/layout.hpp"
#include "base/request.hpp"
#include "rma/control.hpp"
#include "rma/datatypes.hpp"
#include "rma/domain.hpp"
#include "rma/fault.hpp"
#include "rma/reach.hpp"
#include "rma/window.hpp"

namespace rmq::rma {

/// An operation that travels by packets: queued, or sent and not finished.
struct Op {
  Op* next = nullptr;
  Window* window = nullptr;
  int target = 0;
  int pending = 0;         // things that must happen: all pieces have been sent, the data has left, the answer has come
  bool replies = false;    // the answer brings data
  std::uint8_t flags = 0;  // of the last piece
  Packet packet;           // of the first piece, without flags
  DataView data;           // at the origin, to be sent
  DataView result;         // at the origin, to be filled
  std::uint64_t bytes = 0;    // of the target's data, packed
  std::uint64_t sent = 0;     // of these, brought or asked for by pieces so far
  std::uint64_t arrived = 0;  // of the result
  std::uint64_t number = 0;   // on its channel; 0: no piece has left
  std::uint64_t begin = 0;    // of its channel's position when it started
  std::uint64_t unit = 1;     // pieces end on multiples of this
  std::uint64_t piece = 0;    // bytes of each piece but the last
  std::uint32_t ticket = 0;
  Fault fault = Fault::none;
  Op *older = nullptr, *newer = nullptr;  // of those that have started and are not finished
  Request* carrier = nullptr;             // watches the data leave; while pieces are still to be sent
  Request* request = nullptr;             // the caller's, of a request-based form
  TypeOut* type = nullptr;                // the target's datatype, when it must be named
  std::array<LayoutRef, 2> layouts;       // keep data and result alive
  std::array<std::byte, 16> words{};      // data of compare-and-swap: comparand and new value
};

/// A datatype that operation `number` of a channel names: its target may ask for it again until the operation is done.
struct NamedType {
  std::uint64_t number = 0;
  TypeOut* type = nullptr;
};

/// What a call that drains a channel waits for: the operations that were issued before it, whatever other threads issue
/// meanwhile.
struct Goal {
  int rank = 0;
  std::uint64_t number = 0;  // of the last of them, once it has one
  bool counted = false;      // in Channel::settling
  bool draining = false;     // counted in Channel::draining
};

/// The way to a target that is reached by packets.
struct Channel {
  enum class State : std::uint8_t {
    closed,    // no epoch
    unlocked,  // the lock is needed and not asked for
    asked,     // the lock is asked for, or rides with an operation that is under way
    unposted,  // the target has not posted yet
    open,      // operations may leave
  };
  int rank = 0;
  Rank to = kNoRank;
  State state = State::closed;
  LockType type = LockType::shared;
  bool locks = false;                       // a lock belongs to the epoch: it must be released
  bool busy = false;                        // listed in Window::busy_
  bool urgent = false;                      // a request-based operation is queued
  bool starved = false;                     // listed in Domain::starved_
  std::uint32_t settling = 0;               // calls that have a goal, draining already or not
  std::uint32_t draining = 0;               // calls that wait for what is queued to leave
  Op *head = nullptr, *tail = nullptr;      // queued; the first may have started
  std::uint32_t queued = 0;                 // that have not started
  std::uint64_t queued_bytes = 0;           // of their data
  Op *oldest = nullptr, *newest = nullptr;  // started, not finished here
  std::uint64_t sent = 0;                   // operations that have started, and bare unlocks, so far
  std::uint64_t acked = 0;                  // of those, done at the target
  std::uint64_t asked_to = 0;               // an acknowledgement of this one, and all before, is on its way
  std::uint32_t asks = 0;                   // acknowledgements that are on their way
  std::uint32_t answers = 0;                // operations whose data is still to come
  std::uint64_t rider = 0;  // number of the operation that carries the request for the lock; 0: none under way
  // The flight: bytes of packets, and of the answers they ask for, from the start of the window on.
  std::uint64_t position = 0;        // sent
  std::uint64_t settled = 0;         // of those, known to be dealt with at the target
  std::uint64_t asked_position = 0;  // an answer that settles everything up to here is on its way
  std::deque<NamedType> types;       // that operations which have started name, until they are known to be done
  std::uint32_t typed = 0;           // of these, and of the queue
  Fault fault = Fault::none;         // the first that has come up and was not reported
  Rank culprit = kNoRank;            // that it is about
};

/// How much may be under way to a target of one window: bytes of packets and of the answers that they ask for. A target
/// that cannot execute at once keeps no more than this.
inline constexpr std::uint64_t kFlightMost = 2 * 1024 * 1024;
/// Bytes of data that one packet brings, most. Part of the protocol: what an RMA_GET_ACCUMULATE with no_op asks for is
/// this much, in whole elements, from `at` on. (An RMA_GET asks for all: its answer is not copied.)
inline constexpr std::uint64_t kPieceMost = 256 * 1024;
/// What a packet without data counts for.
inline constexpr std::uint64_t kPacketCost = 64;

/// A packet that has to wait at the target, with its payload.
struct Held {
  Packet packet;
  std::unique_ptr<std::byte[]> payload;
};

/// An origin that sends packets to my memory.
struct Origin {
  enum class Lock : std::uint8_t { none, waiting, held };
  int rank = 0;
  Rank world = kNoRank;
  Lock lock = Lock::none;
  bool lost = false;
  bool running = false;       // what was kept is being executed
  bool behind = false;        // listed in Domain::behind_
  std::uint32_t missing = 0;  // datatype that was asked for again
  LockPlace place;
  std::deque<Held> held;  // in order; the first waits for the lock or for a datatype, the others for it
  std::uint64_t held_bytes = 0;
};

/// What a call on a window waits for.
struct WaitFor {
  enum class What : std::uint8_t {
    lock,
    post,        // of the target
    complete,    // of all of the exposure's group
    fence,       // the member has to come to it
    operations,  // to be done at the target: which may first have to give its lock, or to post
  };
  What what;
  int rank = 0;                    // the member that is waited for; not with complete
  const Window* window = nullptr;  // set by wait_until
};

template <class Done>
void Window::wait_until(const WaitFor& what, Done&& done) {
  if (done()) return;
  const WaitFor wait{what.what, what.rank, this};
  const adi::Awaited awaited{[](const void* object, ReportText& to) {
                               const auto& w = *static_cast<const WaitFor*>(object);
                               w.window->tell_wait(w, to);
                             },
                             &wait};
  do {
    const adi::Watch watch(device().watches(), done);
    device().MPID_Poll(true, awaited);
  } while (!done());
  device().MPID_Waited();
}

}  // namespace rmq::rma
