// The request: one object for one communication, shared by every layer from mpi/ down to the methods.
//
// Line 0 is all that matching reads; line 1 is the data and the status; line 2 the packet that announces the message
// (also while it waits in a pending queue); line 3 belongs to the method that moves the data.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/data_view.hpp"
#include "base/error.hpp"
#include "base/handle.hpp"
#include "base/layout.hpp"
#include "base/packet.hpp"
#include "base/reduction.hpp"

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

/// What happens to arriving data at the destination (the seeds' destination operations).
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

struct alignas(kCacheLine) Request {
  // ---- line 0: completion and matching ----
  std::atomic<std::int32_t> incomplete{0};  // things still to happen; 0 means complete. Written under the device's lock
                                            // only; read by waiters of other threads, so the last decrement releases.
  RequestKind kind = RequestKind::none;
  SendMode mode = SendMode::standard;
  DestOp dest_op = DestOp::copy;
  std::uint8_t flags = 0;                   // request_flag
  Match match;
  Rank peer = kNoRank;                      // world rank of the other side; kNoRank while a wildcard is open
  std::uint64_t stamp = 0;                  // order of posting or arrival
  Request* next = nullptr;                  // hash chain or pending queue
  Request* prev = nullptr;
  Handle self;                              // names this request on the wire
  std::uint32_t parts = 1;                  // cat, join: messages that this receive still takes
  ReduceOp join_op = ReduceOp::none;
  Basic join_type = Basic::none;

  // ---- line 1: data and status ----
  alignas(kCacheLine) DataView view;        // the user's buffer
  std::uint64_t moved = 0;                  // bytes that have been sent or have landed
  Status status;

  // ---- line 2: the packet that opened the exchange ----
  Packet packet;

  // ---- line 3: owned by the method while it has the request ----
  alignas(kCacheLine) std::byte method_part[kCacheLine] = {};

  // ---- line 4: for the layers above, and what some requests own ----
  LayoutRef layout;                         // keeps view.layout alive
  void (*on_complete)(Request*) = nullptr;  // called once, from poll, when incomplete reaches 0; may free the request
  void* user = nullptr;                     // for the layer that made the request
  std::uint64_t remote = 0;                 // the other side's handle, once known
  std::uint64_t expected = 0;               // rendezvous: bytes that will move
  std::byte* owned = nullptr;               // buffer that is freed with the request (unexpected or buffered data)
  std::uint64_t owned_bytes = 0;
  std::uint64_t since = 0;                  // rendezvous: turn of the dispatch loop in which it was matched

  // ---- line 5: hash chains of the wildcard indexes (adi/match) ----
  struct Links {
    Request *next = nullptr, *prev = nullptr;
  };
  alignas(kCacheLine) Links wild[3];
  const std::vector<Rank>* group = nullptr;  // with request_flag::grouped

  bool complete() const {
    // Acquire pairs with the release in the device's completion, so that the received data is visible to a waiter that
    // did not poll itself.
    return incomplete.load(std::memory_order_acquire) == 0;
  }
};

/// Bits of Request::flags.
namespace request_flag {
inline constexpr std::uint8_t detached = 1;    // nobody waits: the device frees it on completion
inline constexpr std::uint8_t matched = 2;     // recv: has met its message; send: the receiver has answered
inline constexpr std::uint8_t cancelling = 4;  // send: an ANTI_SEND is on its way
inline constexpr std::uint8_t queued = 8;      // stands in a pending queue
inline constexpr std::uint8_t grouped = 64;    // recv from any source: needs each of `group`, and fails with the first lost
inline constexpr std::uint8_t asked = 32;      // recv: OK_TO_SEND has gone, data or the end of a put may come
inline constexpr std::uint8_t staged = 16;     // internal receive into a buffer of its own; `user` is the real one
}  // namespace request_flag

static_assert(offsetof(Request, view) == kCacheLine, "matching reads one line");
static_assert(offsetof(Request, packet) % kCacheLine == 0);
static_assert(offsetof(Request, wild) == 5 * kCacheLine, "a receive without wildcards touches lines 0, 1 and 4");

}  // namespace rmq
