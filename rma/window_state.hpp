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
  int pending = 0;            // things that must happen: the data has left, the answer has come
  bool replies = false;       // the answer brings data
  bool rides = false;         // carries the request for the lock
  bool unlocks = false;       // carries the release
  Packet packet;              // of the first fragment, without flags
  DataView data;              // at the origin, to be sent
  DataView result;            // at the origin, to be filled
  std::uint64_t bytes = 0;    // of the target's data, packed
  std::uint64_t arrived = 0;  // of the result
  std::uint64_t number = 0;   // on its channel
  std::uint64_t unit = 1;     // fragments end on multiples of this
  std::uint32_t ticket = 0;
  Fault fault = Fault::none;
  Request* request = nullptr;         // the caller's, of a request-based form
  TypeOut* type = nullptr;            // the target's datatype, when it must be named
  std::array<LayoutRef, 2> layouts;   // keep data and result alive
  std::array<std::byte, 16> words{};  // data of compare-and-swap: comparand and new value
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
  bool locks = false;                   // a lock belongs to the epoch: it must be released
  bool busy = false;                    // listed in Window::busy_
  bool urgent = false;                  // a request-based operation is queued
  Op *head = nullptr, *tail = nullptr;  // queued
  std::uint32_t queued = 0;
  std::uint64_t queued_bytes = 0;
  std::uint64_t sent = 0;      // operations so far
  std::uint64_t needed = 0;    // what a flush waits for: all but a bare unlock at the end
  std::uint64_t acked = 0;     // of those, done at the target
  std::uint64_t asked_to = 0;  // an acknowledgement of this one, and all before, is on its way
  std::uint32_t answers = 0;   // operations whose data is still to come
  std::uint32_t sending = 0;   // operations whose memory the transport still reads
  std::uint64_t rider = 0;     // number of the operation that carries the request for the lock; 0: none under way
  Fault fault = Fault::none;   // the first that has come up and was not reported
  Rank culprit = kNoRank;      // that it is about
};

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
  std::uint32_t missing = 0;  // datatype that was asked for again
  LockPlace place;
  std::deque<Held> held;  // in order; the first waits for the lock or for a datatype, the others for it
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
    const Domain::Wait known(domain_, done);
    device().MPID_Poll(true, awaited);
  } while (!done());
  device().MPID_Waited();
}

}  // namespace rmq::rma
