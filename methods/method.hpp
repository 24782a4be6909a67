// SPDX-License-Identifier: BSD-3-Clause
// The contract of a method: how packets and bulk data reach other ranks by one transport.
//
// A method knows packets, ranks and memory. It knows nothing of matching, of MPI, or of other methods. The device calls
// down through Method; the method calls up through the Sink that it was given when it was made, and only from inside
// poll() (and close()), never from inside send(), get() or put(). All calls come from one thread at a time (the
// device's lock), except ring-like internals that say otherwise. No exception leaves a method.
//
// Order: packets to one rank arrive in the order in which send() took them. Remote-memory transfers (get, put) are not
// ordered with packets; their completion upcall is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "base/data/data_view.hpp"
#include "base/error.hpp"
#include "base/os/doorbell.hpp"
#include "base/packet/packet.hpp"
#include "base/packet/request.hpp"
#include "base/record/trace.hpp"
#include "methods/names.hpp"
#include "start/bootstrap.hpp"

namespace rmq::methods {

/// What became of a packet or transfer that the device handed down.
enum class Outcome : std::uint8_t {
  done,    // taken, and the caller's memory is no longer needed
  queued,  // taken; memory and request stay in use until Sink::on_sent / on_moved names the owner
  retry,   // not taken, nothing changed: the link is full or still connecting; try again after a poll
  failed,  // the peer is lost: on_peer_lost has been or will be called; or get() and put() cannot reach this memory
};

/// Which way promises to be faster.
enum class Pull : std::uint8_t {
  get,
  ask,
  unsure,  // look again: asking is, as soon as the other side waits
};

/// Where payload that is still in the transport shall be put. Bytes beyond `bytes` are read and dropped.
struct Landing {
  DataView into;
  std::uint64_t offset = 0;  // first byte of `into`, packed order
  std::uint64_t bytes = 0;   // how many of the payload's bytes are wanted
  Request* owner = nullptr;  // handed back with on_landed
};

/// The upcalls, as a table that the device fills once. `device` is passed back as it was given.
struct Sink {
  void* device = nullptr;

  /// A packet with all its payload at `payload` (packet.length bytes, any alignment, valid only during the call). The
  /// packet itself may lie in memory that the peer could write: it is a copy or is read once. Indexed by kind; every
  /// entry is set (unknown kinds go to a handler that drops the peer).
  using OnPacket = void (*)(void* device, Rank from, const Packet& packet, const std::byte* payload);
  std::array<OnPacket, 256> on_packet{};

  /// A packet whose payload is not at hand yet. The device says where it shall go; the memory stays valid until
  /// on_landed. Methods that always have the whole payload never call this.
  Landing (*on_arriving)(void* device, Rank from, const Packet& packet) = nullptr;
  /// All payload of that packet has landed (or the peer was lost: error set, then on_peer_lost follows).
  void (*on_landed)(void* device, Rank from, const Packet& packet, const Landing& landing, Errc error) = nullptr;

  /// A send that was `queued` no longer needs its memory.
  void (*on_sent)(void* device, Request* owner, Errc error) = nullptr;
  /// A send() to the rank that was refused (`retry`) may be tried again. Only by methods that tells_of_room().
  void (*on_room)(void* device, Rank rank) = nullptr;
  /// A get or put that was `queued` has finished: `bytes` have moved.
  void (*on_moved)(void* device, Request* owner, std::uint64_t bytes, Errc error) = nullptr;

  /// The rank is unreachable for good. Called once for each rank; every owner of queued work towards it has been told
  /// before. `error` names rank, address and cause.
  void (*on_peer_lost)(void* device, Rank rank, const Error& error) = nullptr;
};

/// What a method is made from. Everything outlives the method.
struct MethodContext {
  const Config& config;
  Bootstrap& bootstrap;
  const Sink& sink;
  Trace& trace;
  Doorbell& doorbell;
};

class Method {
 public:
  virtual ~Method() = default;
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  virtual MethodId id() const = 0;

  /// Whether this method can carry packets to the rank. Constant after construction.
  virtual bool reaches(Rank rank) const = 0;
  /// How many ranks of the job those are, this one not counted.
  virtual int reached() const = 0;
  /// Whether all of them are on this host, and packets go by memory: floors above may map memory of these ranks, too.
  virtual bool shares_memory() const { return false; }

  /// Largest payload of a SHORT packet that is worth sending at once, and that send() takes; bytes.
  virtual std::size_t eager_max(Rank to) const = 0;
  /// Largest payload that one RNDV_DATA packet should carry; bytes.
  virtual std::size_t fragment_max(Rank to) const = 0;

  /// Sends a packet with `payload` behind it (packet.length must equal payload.bytes and not exceed
  /// max(eager_max, fragment_max)). The packet is always copied before the call returns; its `link` field is ignored.
  /// `queued` only when `owner` is given; a payload without owner is sent or refused as a whole. Connects on first use
  /// (`retry` meanwhile).
  virtual Outcome send(Rank to, const Packet& packet, const Payload& payload, Request* owner) = 0;

  /// Whether on_room() says, from a poll(), when a send() that was refused may be tried again, unless on_peer_lost()
  /// does away with it; else that is after any poll. For methods where a poll must not cost what waits, only what is
  /// ready.
  virtual bool tells_of_room() const { return false; }

  /// From gather(to, true) to gather(to, false), which follows before the next poll(), small packets to that rank may
  /// wait so that they leave together; send() answers as if they had left. For methods where each departure is dear.
  virtual void gather(Rank to, bool on) { static_cast<void>(to), static_cast<void>(on); }

  /// Takes in what has arrived, calls the sink, advances everything under way. Never blocks. Returns how many things
  /// happened (0: idle).
  virtual int poll() = 0;

  /// The rank is about to sleep: announce it, so that peers ring the doorbell, then look once more. Returns false when
  /// there is work (the caller must not sleep). From then on the bell rings for whatever arrives, and when a send()
  /// that was refused may be tried again: there is room, or the connection stands. disarm() follows in either case,
  /// also without arm().
  virtual bool arm() { return true; }
  virtual void disarm() {}

  /// Opaque address of user memory that `peer` may use in get() or put(); 0 when this method has no remote memory
  /// access to that rank or for this memory. Valid while the memory is.
  virtual std::uint64_t expose(Rank peer, const DataView& view) {
    static_cast<void>(peer), static_cast<void>(view);
    return 0;
  }
  /// The address for get() and put() of memory at `at` in the process of `peer`, which has told of it but has not
  /// exposed it; 0 when this method has no way there.
  virtual std::uint64_t reach(Rank peer, std::uint64_t at) {
    static_cast<void>(peer), static_cast<void>(at);
    return 0;
  }
  /// Whether get() and put() at that address, which this rank or a peer has exposed, take no longer than packets do
  /// where both ranks have time for these.
  virtual bool copies_fast(std::uint64_t address) const {
    static_cast<void>(address);
    return true;
  }
  /// How to come by so much data at that address: by get(), or by asking its owner to send it as packets. `timed`:
  /// pulled() will tell how long it took.
  virtual Pull how_to_pull(Rank from, std::uint64_t address, std::uint64_t bytes, bool timed) {
    static_cast<void>(from), static_cast<void>(address), static_cast<void>(bytes), static_cast<void>(timed);
    return Pull::get;
  }
  /// It has come, by get or ask, since `since` (os::ticks), from an address where copies_fast() is false. 0: get has
  /// failed.
  virtual void pulled(Rank from, Pull how, std::uint64_t bytes, std::uint64_t since) {
    static_cast<void>(from), static_cast<void>(how), static_cast<void>(bytes), static_cast<void>(since);
  }
  /// A word in which the device notes whether this rank waits inside of a call (1) or not (0), for peers to read;
  /// nullptr: nobody reads it.
  virtual std::atomic<std::uint32_t>* attention() { return nullptr; }
  /// Starts copying `bytes` bytes from `address` (exposed by `from`, or reached) into `into`. done | queued | retry |
  /// failed. Without an owner all is copied before it returns: done | failed.
  virtual Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes, Request* owner) {
    static_cast<void>(from), static_cast<void>(address), static_cast<void>(into), static_cast<void>(bytes);
    static_cast<void>(owner);
    return Outcome::failed;
  }
  /// The same towards `to`.
  virtual Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes, Request* owner) {
    static_cast<void>(to), static_cast<void>(address), static_cast<void>(data), static_cast<void>(bytes);
    static_cast<void>(owner);
    return Outcome::failed;
  }

  /// The launcher says that the rank's process has ended: once what has come from it has been taken, poll() reports the
  /// loss, unless it has done so.
  virtual void ended(Rank rank, const Error& why) { drop(rank, why); }

  /// Memory that peers on this host can reach directly; nullptr when the method has none (or no more).
  virtual void* mem_alloc(std::size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  /// Whether `memory` came from mem_alloc of this method; then it is freed.
  virtual bool mem_free(void* memory) {
    static_cast<void>(memory);
    return false;
  }

  /// What lets other ranks of this host find memory from mem_alloc, in mem_map; 0 when it is not such memory.
  virtual std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const {
    static_cast<void>(memory), static_cast<void>(bytes);
    return 0;
  }
  /// The memory behind a token of `owner`, as it lies in this process; nullptr when it cannot be reached, or when the
  /// token does not lie within what `owner` may share. Valid until the owner's mem_free.
  virtual std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const {
    static_cast<void>(owner), static_cast<void>(token), static_cast<void>(bytes);
    return nullptr;
  }
  /// The caller has changed memory that it shares with this rank: if the rank sleeps, it is woken, for that may be what
  /// it waits for. (The other side: arm(), and then one more look by whoever waits.) Any rank of this host.
  /// False when the method does not know who sleeps.
  virtual bool wake(Rank rank) {
    static_cast<void>(rank);
    return false;
  }
  /// Asks the system whether the rank's process has ended; for who waits for memory that it may have left locked.
  virtual bool gone(Rank rank) const {
    static_cast<void>(rank);
    return false;
  }

  /// The rank has broken the protocol: the next poll() loses it with this error, as if its connection had failed, and
  /// the other side learns of it where the transport can tell. May be called in an upcall; a second time does nothing.
  virtual void drop(Rank rank, const Error& why) = 0;

  /// All ranks that live have come to the end of the job: one that cannot be reached any more has left, and needs
  /// nothing.
  virtual void ending() {}

  /// Whether everything that was taken has left this process.
  virtual bool drained() const = 0;

  /// Orderly end after a job-wide barrier: says good-bye, so that peers do not take it for a death. Bounded in time.
  virtual void close() = 0;
};

/// How a method is made: `make_shm`, `make_tcp`, or the symbol `rmq_method_open` of a plug-in.
using MakeMethod = Result<std::unique_ptr<Method>> (*)(const MethodContext&);

}  // namespace rmq::methods
