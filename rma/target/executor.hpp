// SPDX-License-Identifier: BSD-3-Clause
// Executes operations of origins in this rank's memory, and answers them. Called by Server, which keeps the order.
//
// Nothing that arrives is trusted: place, lengths, operation and type are checked here. What an origin of ours could
// send comes back to it as its fault; an origin that sends anything else is dropped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/data/data_view.hpp"
#include "base/packet/request.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/window_core.hpp"
#include "rma/target/lock.hpp"
#include "rma/target/origin.hpp"

namespace rmq::rma {

class Executor {
 public:
  Executor(WindowCore& core, Lock& lock) : core_(core), lock_(lock) {}

  /// Executes an operation, with all that follows it: release of the lock, acknowledgement. False when it has to wait
  /// for a datatype, which has been asked for.
  bool execute(Origin& o, const Packet& p, const std::byte* payload);
  /// The data of a put, whose payload is still in the transport, may land where `view` says, at p.rma_put.at.
  bool may_land(Origin& o, const Packet& p, DataView& view);
  void landed(Origin& o, const Packet& p) { after(o, p, Fault::none); }
  void acknowledge(const Origin& o, std::uint32_t ticket, Fault fault, Rank culprit = kNoRank);

 private:
  Fault find_place(Origin& o, const Packet& p, DataView& view, bool& missing);
  bool contains(std::uint64_t offset, std::uint64_t bytes) const;
  std::byte* address(std::uint64_t offset) const;
  Fault execute_get(Origin& o, const DataView& view, const Packet& p);
  Fault execute_combine(Origin& o, const DataView& view, const Packet& p, const std::byte* payload);
  Fault execute_list(const Packet& p, const std::byte* payload);
  Fault execute_one(Origin& o, const Packet& p, const std::byte* payload);
  void after(Origin& o, const Packet& p, Fault fault);
  void reply(const Origin& o, std::uint32_t ticket, const Payload& data, std::uint64_t at, Request* owner);
  Regions regions_for(const Origin& o) const;

  WindowCore& core_;
  Lock& lock_;
};

}  // namespace rmq::rma
