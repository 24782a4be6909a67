// SPDX-License-Identifier: BSD-3-Clause
// One device among peers of which one follows no protocol: rank 0 and rank 2 are devices, rank 1 is a bare endpoint of
// the in-process method that sends whatever packets it is given and writes down what it hears.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "adi/device.hpp"
#include "methods/inproc.hpp"

namespace rmq::testing {

class HostileWorld {
 public:
  static constexpr Rank kVictim = 0, kHostile = 1, kBystander = 2;

  explicit HostileWorld(const methods::InprocRules& rules = {}, const std::function<void(Config&)>& adjust = {});
  ~HostileWorld();
  HostileWorld(const HostileWorld&) = delete;
  HostileWorld& operator=(const HostileWorld&) = delete;

  adi::Device& victim() { return *devices_[0]; }
  adi::Device& bystander() { return *devices_[1]; }

  /// Sends a packet as rank 1 (its `length` is set to the payload's); false: rank 0 has dropped rank 1.
  bool send(Packet packet, const std::vector<std::byte>& payload = {});
  /// What rank 1 has heard from rank 0, payloads left out.
  std::vector<Packet> heard;
  /// The latest packet of this kind that it has heard; none: a packet of kind `none`.
  Packet last(Kind kind) const;
  /// Whether rank 1 has lost rank 0.
  bool lost() const { return lost_; }

  /// One poll of each rank.
  void turn();
  /// Turns until nothing is under way that could still happen.
  void settle();

  // Requests of a device; sources are world ranks.
  static Request* isend(adi::Device& d, Rank to, int tag, std::vector<std::byte>& data,
                        SendMode mode = SendMode::standard, std::uint32_t context = 1);
  static Request* irecv(adi::Device& d, Rank from, int tag, std::vector<std::byte>& into, std::uint32_t context = 1);

 private:
  methods::InprocWorld world_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::vector<std::unique_ptr<adi::Device>> devices_;
  Config config_;
  Trace trace_;
  methods::Sink sink_;
  std::unique_ptr<Doorbell> bell_;
  std::unique_ptr<methods::Method> hostile_;
  std::vector<std::byte> landing_;
  bool lost_ = false;
};

}  // namespace rmq::testing
