// SPDX-License-Identifier: BSD-3-Clause
// Where the payload of a packet lands that is handled only when it is whole, in memory of its own.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "adi/device.hpp"

namespace rmq::rma {

/// The landing's owner has the memory (Request::owned) and goes with it: MPID_Request_free, once it has landed.
inline methods::Landing land_apart(adi::Device& device, const Packet& p) {
  Request* const whole = device.MPID_Request_create(RequestKind::other);
  whole->owned = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(p.length, 1)));
  RMQ_CHECK(whole->owned != nullptr);
  whole->owned_bytes = p.length;
  return {DataView::contiguous(whole->owned, p.length), 0, p.length, whole};
}

}  // namespace rmq::rma
