// SPDX-License-Identifier: BSD-3-Clause
// The request: one object for one communication, shared by every layer from mpi/ down to the methods.
//
// Line 0 is all that matching reads; line 1 is the data and the status; line 2 the packet that opens the exchange (also
// while it waits in a channel); line 3 belongs to the method that moves the data; line 4 has what a step needs.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "base/data/reduction.hpp"
#include "base/error.hpp"
#include "base/packet/handle.hpp"
#include "base/packet/packet.hpp"
#include "base/ranks.hpp"

namespace rmq {

inline constexpr std::int32_t kAnySource = -2;  // as MPI_ANY_SOURCE in the MPICH ABI
inline constexpr std::int32_t kAnyTag = -1;     // as MPI_ANY_TAG in the MPICH ABI

/// What decides whether a receive and a message belong together.
struct Match {
  std::uint32_t context = 0;
  std::int32_t source = 0;  // rank in the communicator; kAnySource in receives
  std::int32_t tag = 0;     // kAnyTag in receives
  friend bool operator==(const Match&, const Match&) = default;
};

enum class RequestKind : std::uint8_t { none, send, recv, control, message, other };

enum class SendMode : std::uint8_t { standard, synchronous, ready, buffered };

/// What happens to arriving data at the destination: the destination operation of a receive.
enum class DestOp : std::uint8_t {
  copy,  // it is written to the buffer
  cat,   // it is appended behind what earlier messages of the same receive left there, in arrival order
  join,  // it is combined with what is in the buffer by join_op on elements of join_type
};

struct Status {
  std::int32_t source = kAnySource;
  std::int32_t tag = kAnyTag;
  Errc error = Errc::ok;
  bool cancelled = false;
  std::uint64_t bytes = 0;  // received, packed
};

/// What a request does at present: base/packet/request_step.def.
enum class Step : std::uint8_t {
#define RMQ_STEP(name, kind, what) name,
#define RMQ_STEP_MOVE(from, KIND, to)
#include "base/packet/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
};
constexpr bool may_follow(Step from, Step to) {
#define RMQ_STEP(name, kind, what)
#define RMQ_STEP_MOVE(before, KIND, after) \
  if (from == Step::before && to == Step::after) return true;
#include "base/packet/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
  return false;
}
/// Whether a send's receiver has taken it, or a receive takes no more messages.
constexpr bool is_matched(Step s) {
  return s == Step::landing || s == Step::pulling || s == Step::asked || s == Step::taken || s == Step::putting ||
         s == Step::pushing;
}
std::string_view step_name(Step s);

struct Request;

/// A message that was announced and is matched: from the answer on at its sender, from the match on at its receiver.
struct Transfer {
  std::uint64_t bytes;   // that will move
  std::uint64_t moved;   // so far
  std::uint64_t remote;  // the other side's request, as packets name it
  union {
    std::uint64_t matched_turn;  // receiver, until it fetches the data or asks for it: turn of the dispatch loop
    std::uint64_t fetch_ticks;   // from then on: os::ticks() when it did, 0 if that is not measured
  };
};
/// What a receive that appends (DestOp::cat) has taken already; bytes. Where it begins, if that is not at 0.
struct Appended {
  std::uint64_t bytes;
};
/// A packet of a floor above that waits in its channel.
struct Waiting {
  std::uint64_t bytes, offset;  // of its payload, in `view`
  Request* owner;               // told when it has left; may be null
};
/// A message that no receive had been posted for.
struct Unexpected {
  Request* taker;      // arriving: the receive that has taken it since, or null
  Request* self_send;  // the long message to oneself that it stands for, or null
};

struct alignas(kCacheLine) Request {
  // ---- line 0: completion and matching ----
  std::atomic<std::int32_t> incomplete{0};  // owners: each ends one thing that is still to happen; 0 means complete.
                                            // Written under the device's lock only; read by waiters of other threads,
                                            // so the last decrement releases.
  RequestKind kind = RequestKind::none;
  SendMode mode = SendMode::standard;
  DestOp dest_op = DestOp::copy;
  std::uint8_t flags = 0;  // request_flag
  Match match;
  Rank peer = kNoRank;      // world rank of the other side; kNoRank while a wildcard is open
  std::uint64_t stamp = 0;  // order of posting or arrival
  Request* next = nullptr;  // hash chain or pending queue
  Request* prev = nullptr;
  Handle self;              // names this request on the wire
  std::uint32_t parts = 1;  // cat, join: messages that this receive still takes
  ReduceOp join_op = ReduceOp::none;
  Basic join_type = Basic::none;
  Step step = Step::idle;

  // ---- line 1: data and status ----
  alignas(kCacheLine) DataView view;  // the user's buffer
  LayoutRef layout;                   // keeps view.layout alive
  Status status;

  // ---- line 2: the packet that opened the exchange ----
  Packet packet;

  // ---- line 3: owned by the method while it has the request ----
  alignas(kCacheLine) std::byte method_part[kCacheLine] = {};

  // ---- line 4: for the layers above, and what some requests need ----
  void (*on_complete)(Request*) = nullptr;  // called once, from poll, when incomplete reaches 0; may free the request
  void* user = nullptr;                     // for the layer that made the request
  std::byte* owned = nullptr;               // buffer that is freed with the request (unexpected or buffered data)
  std::uint64_t owned_bytes = 0;
  union {                     // by kind and step
    Transfer transfer;        // send, recv: announced, and matched
    Appended appended = {0};  // recv with DestOp::cat
    Waiting waiting;          // control
    Unexpected unexpected;    // message
  };

  // ---- line 5: hash chains of the wildcard indexes (adi/match); not of a staged receive, which is never posted ----
  struct Links {
    Request *next = nullptr, *prev = nullptr;
  };
  struct Staging {
    Request* whole;        // the receive that it is for
    std::uint64_t offset;  // where the bytes belong there
  };
  union {
    Links wild[3] = {};
    Staging staging;
  };
  const Ranks* group = nullptr;  // with request_flag::grouped

  /// To the next step of its protocol, which the table allows.
  void go(Step to) {
    assert(may_follow(step, to));
    step = to;
  }
  bool matched() const { return is_matched(step); }

  bool complete() const {
    // Acquire pairs with the release in the device's completion, so that the received data is visible to a waiter that
    // did not poll itself.
    return incomplete.load(std::memory_order_acquire) == 0;
  }
};

/// Bits of Request::flags.
namespace request_flag {
inline constexpr std::uint8_t detached = 1;    // nobody waits: the device frees it on completion
inline constexpr std::uint8_t cancelling = 2;  // send: an ANTI_SEND is on its way
inline constexpr std::uint8_t staged = 4;      // recv: internal, into a buffer of its own; `staging` has the real one
inline constexpr std::uint8_t grouped = 8;     // recv from any source: fails with the first of `group` that is lost
}  // namespace request_flag

static_assert(offsetof(Request, view) == kCacheLine, "matching reads one line");
static_assert(offsetof(Request, packet) % kCacheLine == 0);
static_assert(offsetof(Request, wild) == 5 * kCacheLine, "a receive without wildcards touches lines 0, 1 and 4");
static_assert(offsetof(Request, on_complete) == 4 * kCacheLine && sizeof(Request) == 6 * kCacheLine);

}  // namespace rmq
