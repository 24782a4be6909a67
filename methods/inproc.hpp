// SPDX-License-Identifier: BSD-3-Clause
// The in-process method: N endpoints in one process, joined by links whose behaviour is drawn from a seed. It carries
// the unit, property and conformance tests of every protocol, and simulations of many ranks.
//
// What chance decides (InprocRules): how long a frame travels, so that links overtake each other (one link never
// overtakes itself); when a link refuses (`retry`); whether a send is `done` or `queued`, in which pieces a queued one
// leaves, and whether its owner is told then or later, when the packet may long have been answered; whether payload
// arrives whole (on_packet) or in pieces (on_arriving … on_landed); whether memory can be exposed, and whether get and
// put finish at once or later, in pieces. The same seed and the same calls give the same run: log_hash() of two such
// runs is equal.
//
// Time is virtual: it moves only when an endpoint polls. Single-threaded: one thread owns the world and all its devices
// and polls them in turn. Blocking waits of a device would wait for ever, so arm() always refuses sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/packet/packet.hpp"
#include "methods/blocks.hpp"
#include "methods/chance.hpp"
#include "methods/method.hpp"

namespace rmq::methods {

/// How an in-process world behaves. The defaults draw nothing: everything arrives whole, at the next poll, in order.
struct InprocRules {
  std::uint64_t seed = 0;
  std::size_t eager_max = 4096;          // bytes
  std::size_t fragment_max = 64 * 1024;  // bytes
  std::size_t link_frames = 256;         // frames under way on one link before it refuses
  std::uint64_t poll_ns = 100;           // virtual time that one poll takes
  std::uint64_t latency_ns = 0;          // longest extra travel time of a frame; drawn from 0 … this
  int burst = 0;               // most frames that one poll delivers, drawn from 1 … this; 0: all that are due
  int retry = 0;               // per mille of sends and transfers that are refused though there is room
  int room_told_late = -1;     // per mille of polls that leave a refused sender untold of room; -1: none is told
  int queued = 0;              // per mille of sends with owner, and of transfers, that finish later
  int told_late = 0;           // per mille of sends with owner whose owner is told some time after they have left
  int pieces = 0;              // per mille of payloads that arrive through on_arriving
  int no_expose = 0;           // per mille of expose() calls that give 0
  bool shared_memory = false;  // whether mem_alloc gives memory that all endpoints reach
  bool expose_layouts = true;  // whether memory that is not contiguous can be exposed at all

  /// Everything drawn from the seed, including the sizes.
  static InprocRules drawn(std::uint64_t seed);
};

class InprocMethod;

class InprocWorld {
 public:
  InprocWorld(int ranks, const InprocRules& rules);
  ~InprocWorld();
  InprocWorld(const InprocWorld&) = delete;
  InprocWorld& operator=(const InprocWorld&) = delete;

  /// The method of the rank that context.bootstrap names. Once for each rank; the world must outlive it.
  std::unique_ptr<Method> open(const MethodContext& context);

  /// The rank dies now: of what it has sent each link keeps a drawn number of frames, then its peers learn of the loss
  /// (each at a time of its own). The dead rank's own device must not be polled again.
  void kill(Rank rank);

  std::uint64_t now_ns() const { return now_; }
  const InprocRules& rules() const { return rules_; }
  /// Digest of every event so far, in order.
  std::uint64_t log_hash() const { return hash_; }
  std::uint64_t events() const { return events_; }
  /// Frames and transfers under way in the whole world; 0 means that nothing can happen without a new send.
  std::uint64_t under_way() const { return under_way_; }

 private:
  friend class InprocMethod;
  struct Frame;
  struct Link;
  struct Transfer;
  struct Untold;
  struct Endpoint;
  struct Exposure {
    Rank owner = kNoRank;
    Rank peer = kNoRank;
    DataView view;
  };
  enum class Log : std::uint8_t { sent, refused, departed, delivered, arriving, landed, moved, lost, exposed, told };

  void note(Log what, Rank a, Rank b, std::uint64_t x, std::uint64_t y);
  Link& link(Rank from, Rank to);
  std::uint64_t travel();
  bool depart(Endpoint& at, Link& link);
  int tell_of_room(Endpoint& at);
  void tell_later(Endpoint& at, Rank to, Request* owner);
  bool tell_if_due(Endpoint& at, std::size_t untold);
  void took_first(Link& link);
  bool deliver(Endpoint& at, Link& link);
  bool advance(Endpoint& at, std::size_t transfer);
  /// Frames of the link that have left their sender whole.
  static std::size_t whole_frames(const Link& l);
  void end_link(Link& link, std::size_t keep, std::uint64_t loss_due, std::string why);
  void drop(Rank at, Rank from, const Error& why);
  bool lose_if_due(Endpoint& at, Link& link);
  Outcome send(Rank from, Rank to, const Packet& packet, const Payload& payload, Request* owner);
  Outcome transfer(Rank at, Rank peer, std::uint64_t address, const DataView& local, std::uint64_t bytes, bool is_get,
                   Request* owner);
  int poll(Rank rank);
  bool drained(Rank rank) const;

  InprocRules rules_;
  Chance chance_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<Exposure> exposures_;
  std::uint64_t now_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint64_t events_ = 0;
  std::uint64_t under_way_ = 0;
};

/// One endpoint as the device sees it. Made by InprocWorld::open.
class InprocMethod final : public Method {
 public:
  InprocMethod(InprocWorld& world, Rank rank) : world_(world), rank_(rank) {}
  ~InprocMethod() override;

  MethodId id() const override { return MethodId::inproc; }
  bool reaches(Rank rank) const override;
  int reached() const override;
  std::size_t eager_max(Rank) const override { return world_.rules_.eager_max; }
  std::size_t fragment_max(Rank) const override { return world_.rules_.fragment_max; }
  Outcome send(Rank to, const Packet& packet, const Payload& payload, Request* owner) override;
  bool tells_of_room() const override { return world_.rules_.room_told_late >= 0; }
  int poll() override;
  bool arm() override { return false; }
  std::uint64_t expose(Rank peer, const DataView& view) override;
  Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes, Request* owner) override;
  Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes, Request* owner) override;
  void* mem_alloc(std::size_t bytes) override;
  bool mem_free(void* memory) override { return shared_.free(memory); }
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const override {
    return shared_.token(memory, bytes);
  }
  std::byte* mem_map(Rank, std::uint64_t token, std::uint64_t) const override { return Blocks::at(token); }
  bool wake(Rank) override { return true; }  // nobody sleeps
  void drop(Rank rank, const Error& why) override;
  bool drained() const override;
  void close() override;

 private:
  InprocWorld& world_;
  Rank rank_;
  Blocks shared_;
};

}  // namespace rmq::methods
