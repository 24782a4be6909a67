// SPDX-License-Identifier: BSD-3-Clause
// Active messages: a message names a function, its handler, that runs where it arrives, in the poll that takes it in.
//
//   request    to any member. *Short*: arguments alone. *Medium*: and data, which the handler finds in memory of the
//              runtime. *Long*: and data that is put into attached memory of the target, where the handler finds it.
//   reply      one answer to a request, out of its handler, to where it came from; of the same three kinds.
//
//   AM_SHORT             what fits one packet and is for no place
//   AM_LONG              what is for a place: with its data where that is short; else behind AM_PIECE …, or behind a
//                        copy between the processes (Device::put_at_once)
//   AM_FLUSH, AM_CREDIT  how many requests have been handled
//
// Messages of one member to another are handled in order, each exactly once, by whichever thread polls, with the device
// held: two handlers of a process never run at the same time, and a handler may reply, but nothing that waits.
//
// A member has at most kWindow requests under way to another, counted by its target, which says so now and then: so
// what replies may fill of the memory of one that does not poll is bounded. Whoever has as many waits in the call.
//
// Threads: needs the device held, as everything above it. Calls marked *waits* poll, and give the device away between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "adi/device.hpp"
#include "base/os/zeros.hpp"
#include "base/ranks.hpp"
#include "rma/packet/hub.hpp"

namespace rmq::rma {

class ActiveMessages;

/// What is sent.
struct ActiveMessage {
  int handler = 0;
  std::span<const std::byte> args;  // at most kArgsMost
  std::span<const std::byte> data;  // at most kDataMost where it is for no place
  std::uint64_t place = 0;          // address of attached memory of the target; 0: none
};

/// What a handler is given; valid while it runs.
struct Arrival {
  ActiveMessages& set;
  int source;  // member
  int handler;
  bool may_reply;                   // a request that has not been answered
  std::span<const std::byte> args;  // aligned for any type
  std::span<std::byte> data;        // likewise, where it is for no place; else in its place
};

class ActiveMessages final : public Endpoint {
 public:
  static constexpr int kHandlers = 256;
  static constexpr std::size_t kArgsMost = 128;
  static constexpr std::size_t kDataMost = 64 * 1024;
  static constexpr std::uint64_t kWindow = 256;

  using Handler = void (*)(Arrival& arrival, void* context);
  struct Attached {
    std::uint64_t base = 0, bytes = 0;
    /// Whether so many bytes from there lie inside. Of none: anywhere.
    bool holds(std::uint64_t at, std::uint64_t length) const {
      return length == 0 || (at >= base && length <= bytes && at - base <= bytes - length);
    }
  };
  struct Counters {
    std::uint64_t requests = 0, replies = 0;  // sent from here
    std::uint64_t handled = 0;                // handlers that have run here, for either
  };
  enum class Sent { done, lost };

  /// The set is found by packets from now on: its members may send when all have made theirs. `id`: the same in all
  /// members, and no other set's. `me`: my place among the world ranks of the members.
  ActiveMessages(Hub& hub, std::uint32_t id, Ranks ranks, int me);
  /// When nobody sends any more, and all that was sent has been handled: behind flush_all() and a barrier.
  ~ActiveMessages() override;

  /// nullptr: no such handler; a member whose message names it is dropped. None of its own to itself may.
  void set_handler(int index, Handler handler, void* context) {
    handlers_[static_cast<std::size_t>(index)] = {handler, context};
  }
  /// Memory that long messages to each member may name, in the order of members.
  void attach(std::vector<Attached> all) { attached_ = std::move(all); }
  const Attached& attached(int member) const { return attached_[static_cast<std::size_t>(member)]; }

  /// *Waits* until there is room and `m` may be changed; the message may not have left. To this member itself: its
  /// handler has run.
  Sent request(int to, const ActiveMessage& m);
  /// Out of the handler of `to`, once. What cannot leave is copied.
  void reply(Arrival& to, const ActiveMessage& m);
  /// *Waits* until all requests of this member to that one so far have been handled; then their replies have been too,
  /// for they come before the word of it.
  Sent flush(int to);
  /// The same of all; all are waited for though some are lost.
  Sent flush_all();
  /// *Waits* until more than `seen` handlers have run here. Lost: none has, none waits to, and a member is lost.
  Sent wait(std::uint64_t seen);
  /// *Waits* until nothing more comes from members that the launcher calls dead: then no data of theirs lands any more.
  void hear_of_deaths();
  const Counters& counters() const { return counters_; }

 private:
  /// Of one other member.
  struct Peer {
    std::uint64_t sent;     // requests to it
    std::uint64_t handled;  // of these, as it has told
    std::uint64_t placed;   // when so many have been handled, no data is on its way by packets to a place
    std::uint64_t asked;    // AM_FLUSH has gone behind so many
    std::uint64_t done;     // requests of it that have been handled here
    std::uint64_t told;     // of these, as it has been told
    std::byte* staged;      // what short requests bring, kWindow times kStagedMost bytes; owned
    std::byte* pieces;      // data for no place that comes in pieces; owned
    std::uint32_t pieces_bytes, pieces_come;
  };
  // Requests that bring no more may wait for company (tcp/burst.hpp), in memory that is used again when they have been
  // handled.
  static constexpr std::size_t kStagedMost = 128;
  struct Bound {
    Handler run = nullptr;
    void* context = nullptr;
  };
  struct Waited;

  bool is_lost(int member) const { return !device().peer_error(world(member)).empty(); }
  bool is_any_lost() const;
  bool wait_for_peer(int member, std::uint64_t handled);
  bool put_at_once(int to, const ActiveMessage& m);
  Sent send(int to, const ActiveMessage& m, std::uint8_t flags, bool may_wait);
  std::byte* staging_of(int to);
  void send_pieces(int to, const ActiveMessage& m, Request* owner);
  void run(int from, int handler, bool reply, std::span<const std::byte> args, std::span<std::byte> data);
  void run_here(const ActiveMessage& m, bool reply);
  void tell(int member);
  void ask(int member);

  // packets: each says what is wrong with one, or nullptr
  const char* arrive(int from, const Packet& p, const std::byte* payload) override;
  const char* land(int from, const Packet& p, methods::Landing& landing) override;
  void landed(int from, const Packet& p, bool well) override;
  const char* arrive_whole(int from, const Packet& p, const std::byte* payload);
  const char* room_for(int from, const Packet& p, std::byte*& room);
  void piece_came(int from, const Packet& p);

  std::array<Bound, kHandlers> handlers_{};
  std::vector<Attached> attached_;
  os::Zeros<Peer> peers_;
  Request* carrier_;                      // owner of staged packets; counts them
  std::unique_ptr<std::byte[]> aligned_;  // for data that does not lie as it should
  Counters counters_;
};

}  // namespace rmq::rma
