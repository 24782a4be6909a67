// SPDX-License-Identifier: BSD-3-Clause
// What a rank says of itself and its host, and what holds of several: the choice of an algorithm (rules.hpp) looks at
// it, so members of a communicator agree on it.
#pragma once

#include <cstdint>

namespace rmq::adi {
class Device;
}

namespace rmq::mpi::coll {

struct Traits {
  bool crowded = false;  // ranks outnumber CPUs
  bool shares = true;    // messages between ranks of a host go by memory that they share

  /// As it travels: the bitwise and of all members' bits holds of all of them, crowded if one is.
  static constexpr unsigned kBits = 2;
  constexpr std::uint64_t bits() const { return (crowded ? 0u : 1u) | (shares ? 2u : 0u); }
  static constexpr Traits of(std::uint64_t bits) { return {(bits & 1) == 0, (bits & 2) != 0}; }
};

/// What this rank says of itself.
Traits own_traits(const adi::Device& device);

}  // namespace rmq::mpi::coll
