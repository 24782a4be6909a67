// SPDX-License-Identifier: BSD-3-Clause
// The packets of what several ranks have together besides windows: of queue buffers (rma/queue/) and of sets of active
// messages (rma/am/). A packet names the object by its `context`, and its sender by the place among the members, its
// `source`. The hub finds this rank's part of it, the endpoint, and makes sure that the sender is who it says.
//
// Threads: everything needs the device held.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "adi/extension.hpp"
#include "base/ranks.hpp"

namespace rmq::rma {

class Endpoint;

/// One a device. Made before the first endpoint, destroyed after the last.
class Hub final : public adi::Extension {
 public:
  explicit Hub(adi::Device& device);
  ~Hub() override;

  adi::Device& device() const { return device_; }
  /// Packets find the endpoint from now on.
  void add(Endpoint& endpoint) { endpoints_.push_back(&endpoint); }
  void remove(Endpoint& endpoint) { std::erase(endpoints_, &endpoint); }

  void on_packet(Rank from, const Packet& packet, const std::byte* payload) override;
  methods::Landing on_arriving(Rank from, const Packet& packet) override;
  void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) override;
  void on_peer_lost(Rank) override {}
  int advance() override { return 0; }
  bool may_sleep() override { return true; }

 private:
  Endpoint* find(Rank from, const Packet& packet) const;
  void stray(Rank from, const Packet& packet);

  adi::Device& device_;
  std::vector<Endpoint*> endpoints_;  // few
};

/// The kinds of packets of an endpoint.
struct Kinds {
  Kind first, last;
  bool contains(Kind kind) const { return first <= kind && kind <= last; }
};

/// This rank's part. Whoever derives from it lets it be found (Hub::add), and no longer before it ends.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int size() const { return ranks_.size(); }

 protected:
  /// `id`: the same in all members, and no other endpoint's. `me`: my place among the world ranks of the members.
  Endpoint(Hub& hub, Kinds kinds, std::uint32_t id, Ranks ranks, int me)
      : hub_(hub), kinds_(kinds), id_(id), ranks_(std::move(ranks)), me_(me) {}

  Hub& hub() const { return hub_; }
  adi::Device& device() const { return hub_.device(); }
  int me() const { return me_; }
  const Ranks& ranks() const { return ranks_; }
  Rank world(int member) const { return ranks_[member]; }
  /// A packet of this kind from this member.
  Packet packet(Kind kind) const {
    Packet p(kind);
    p.context = id_;
    p.source = me_;
    return p;
  }

 private:
  friend class Hub;

  // A packet from a member: each says what is wrong with it, or nullptr.
  virtual const char* arrive(int from, const Packet& p, const std::byte* payload) = 0;
  /// Its payload is not at hand yet: where it shall land. What land_apart() has made comes to arrive() when it is
  /// whole; else landed() hears when all of it is there, or never will be.
  virtual const char* land(int from, const Packet& p, methods::Landing& landing) = 0;
  virtual void landed(int from, const Packet& p, bool well) = 0;

  Hub& hub_;
  const Kinds kinds_;
  const std::uint32_t id_;
  const Ranks ranks_;
  const int me_;
};

}  // namespace rmq::rma
