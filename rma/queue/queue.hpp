// SPDX-License-Identifier: BSD-3-Clause
// The remote queue buffer, native on the device: each member owns a buffer of fixed-length messages into which any
// member may put, and which only its owner empties. Portable twin of the same interface:
// mpi/include/rmq/queue_buffer.hpp.
//
// Members whose buffer lies in memory that this process can reach put straight into it (rma/queue/queue_store.hpp): one
// atomic count reserves a place, the message is copied, and a stamp on the place says that it is whole. No packet, and
// nobody at the other end has to poll.
//
// Other members send one packet a message (RMA_QUEUE_PUT) on credit: each has its share of a second store at the owner,
// so that a packet that arrives always finds its place, and nothing is ever tried again. The owner returns credit as it
// empties (RMA_QUEUE_CREDIT); a sender without credit sees a full buffer. Small packets share system calls where the
// method can (tcp/burst.hpp).
//
// Threads: needs the device held, as everything above it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/ranks.hpp"
#include "rma/packet/hub.hpp"
#include "rma/queue/queue_store.hpp"

namespace rmq::rma {

struct QueueOptions {
  std::uint32_t id = 0;        // the same in all members; names the queue on the wire
  Ranks ranks;                 // world ranks of the members
  int me = 0;                  // my place among them
  std::uint32_t message = 0;   // bytes of a message, 1 … 32 KB
  std::uint32_t capacity = 0;  // messages that fit one member's buffer, 1 … 2^30
};

/// Counted from the start.
struct QueueCounters {
  std::uint64_t puts = 0;     // that succeeded here
  std::uint64_t refused = 0;  // tries that found the buffer full or locked
  std::uint64_t taken = 0;    // messages that the owner has got
  std::uint64_t rounds = 0;   // times that the owner found any
  std::uint64_t lost = 0;     // places reserved by a member that died before its message was whole
};

class Queue final : public Endpoint {
 public:
  /// Words that each member brings to the gather between prepare() and open().
  static constexpr std::size_t kWords = 1;

  /// Makes this rank's buffer and lets it be found by packets. Errc::no_memory.
  static Result<std::unique_ptr<Queue>> prepare(Hub& hub, const QueueOptions& options);
  std::array<std::uint64_t, kWords> contribution() const;
  /// `all`: kWords words of each member, in their order. The queue may be used from then on.
  void open(std::span<const std::uint64_t> all);
  /// After a barrier of all members.
  ~Queue() override;

  std::uint32_t message_bytes() const { return message_; }
  /// Places that each member has in the store for packets: of the capacity its share, at least 4, and so few that
  /// most() fits an int.
  static std::uint32_t share_of(std::uint32_t capacity, std::uint32_t members);
  /// Most messages that one get() may bring: both stores full.
  std::uint32_t most() const { return capacity_ + share_ * static_cast<std::uint32_t>(senders_.size()); }

  enum class Put { done, refused, lost };
  /// Puts a message into the member's buffer: refused while it is full or locked, lost when the member is.
  Put try_put(int target, const void* message);
  /// Copies all messages that have come to `to`, which has room for most(), and makes the buffer empty. How many.
  std::uint32_t get(std::byte* to);
  /// The owner closes its buffer to puts, and opens it again. What has come stays, and get() works meanwhile.
  void lock();
  void unlock();
  bool locked() const { return locked_; }
  const QueueCounters& counters() const { return counters_; }

 private:
  /// A member whose buffer I reach by packets.
  struct Remote {
    std::uint32_t credit = 0;
    std::uint32_t next = 0;  // place in `staging` of the next message: free again by the time its credit is back
    bool closed = false;     // its owner has locked it
    std::unique_ptr<std::byte[]> staging;
    Request* carrier = nullptr;  // owner of the packets that wait in the method; counts them
  };
  /// A member that reaches mine by packets. Places are used in turn; `arrived` ones from `first` on are whole.
  struct Sender {
    std::uint32_t first = 0, arrived = 0, landing = 0;
    std::unique_ptr<std::byte[]> store;
  };

  Queue(Hub& hub, const QueueOptions& options);
  std::uint64_t store_bytes() const { return QueueStore::bytes(message_, capacity_); }
  Put put_packet(int target, Remote& remote, const void* message);
  std::uint32_t take_direct(std::byte* to);
  std::uint32_t take_arrived(std::byte* to);
  bool await(std::uint32_t index);
  void tell(int member, std::uint32_t credit);
  std::byte* room_for(int from, const Packet& p);

  const char* arrive(int from, const Packet& p, const std::byte* payload) override;
  const char* land(int from, const Packet& p, methods::Landing& landing) override;
  void landed(int from, const Packet& p, bool well) override;

  const std::uint32_t message_, capacity_;  // as in QueueOptions
  std::uint32_t share_ = 0;                 // credit of each packet sender
  std::uint32_t round_ = 1;                 // of my buffer; new memory is zero, which stamps no place
  std::uint32_t pending_ = 0;               // places taken in this round when I locked
  bool locked_ = false;
  QueueStore mine_;
  std::vector<QueueStore> stores_;  // by member; empty: by packets
  std::vector<Remote> remotes_;     // by member; used where stores_ has none
  std::vector<Sender> senders_;     // by member
  QueueCounters counters_;
};

}  // namespace rmq::rma
